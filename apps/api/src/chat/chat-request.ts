import { AppError } from '#contract/app-error.js';
import { ScannedBody } from '../common/fastify/json-body.js';
import type { ScanLimits } from '../common/fastify/json-scan.js';
import { CHAT_COMPLETIONS, RESPONSES, type ChatApi } from './chat-api.js';
import { labelChanges, labeledValue, type ChatChange } from './chat-labels.js';
import { assertMemberNames, assertStreamOptions } from './refuse-options.js';
import { valueAt, type Span } from './json-members.js';

/** Longest of the few values that are read from a chat, in bytes. */
const MAX_READ_BYTES = 65_536;
/** Limits for a chat that this process itself parses. */
const READ_LIMITS: Omit<ScanLimits, 'depth'> = { tokens: 100_000, members: 10_000, rest: 1_048_576 };

const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;

/** A chat as it was sent, with the fields needed to pass it on. */
export interface ChatRequest {
  readonly api: ChatApi;
  readonly bytes: Buffer;
  readonly body: ScannedBody;
  readonly model: string;
  readonly streamed: boolean;
  /** Whether the provider goes on without the caller, which reads the response later. */
  readonly inBackground: boolean;
  /** Whether the caller expects usage at the end of the stream. */
  readonly wantsUsage: boolean;
  readonly members: ReadonlyMap<string, Span>;
  /** Whether its provider stores the response, so that callers can use its id. */
  readonly isStored: boolean;
  /** The response that it continues. */
  readonly previousId: string | undefined;
  /** Tokens of that response, which the provider adds to the input. */
  readonly earlierTokens: number;
  /** Replaces the caller's identifiers of the end user; undefined: they are passed on as they are. */
  readonly endUser: string | undefined;
  /** Recorded with its usage. */
  readonly tags: readonly string[];
  /** The value of a short member; undefined if it is null or absent. Throws AppError `string_above_max_length`. */
  readonly read: (name: string) => unknown;
}

/**
 * Checks the parts of a chat that the contract defines; the provider checks the rest. Throws AppError (invalid_json,
 * missing_required_parameter, invalid_type, array_below_min_length, string_above_max_length, unsupported_parameter).
 */
export function readChatRequest(body: unknown, api: ChatApi = CHAT_COMPLETIONS): ChatRequest {
  const whole = body instanceof ScannedBody ? body : ScannedBody.of(Buffer.isBuffer(body) ? body : Buffer.alloc(0));
  const { bytes } = whole;
  const { members, start } = whole.scan;
  if (bytes[start] !== OPEN_OBJECT) {
    throw new AppError('invalid_json', 'The request body must be a JSON object.');
  }
  assertMemberNames(members.keys());
  const model = read(bytes, members, 'model');
  if (model === undefined) throw missing('model');
  if (typeof model !== 'string') throw wrongType('model', 'a string');
  if (api === CHAT_COMPLETIONS) checkMessages(bytes, members);
  const options = read(bytes, members, 'stream_options');
  assertStreamOptions({ bytes, members });
  return {
    api,
    bytes,
    body: whole,
    model,
    streamed: read(bytes, members, 'stream') === true,
    inBackground: api === RESPONSES && read(bytes, members, 'background') === true,
    wantsUsage: !api.usageOnRequest || (isObject(options) && options['include_usage'] === true),
    members,
    isStored: api === RESPONSES && read(bytes, members, 'store') !== false,
    previousId: api === RESPONSES ? textOf(bytes, members, 'previous_response_id') : undefined,
    earlierTokens: 0,
    endUser: undefined,
    tags: [],
    read: (name) => read(bytes, members, name),
  };
}

/** The parsed chat, with images as `LongText`. Throws AppError (invalid_json, request_too_large). */
export function valueOf({ body }: Pick<ChatRequest, 'body'>): Readonly<Record<string, unknown>> {
  return body.value(READ_LIMITS) as Readonly<Record<string, unknown>>;
}

/** The parsed equivalent of `bodyFor`. Throws like `valueOf`. */
export function valueFor(chat: ChatRequest, upstreamModel: string, askUsage: boolean): unknown {
  const value = labeledValue(valueOf(chat), chat.endUser);
  const { stream_options: options } = value;
  const wishes =
    askUsage &&
    chat.api.usageOnRequest &&
    chat.streamed &&
    (options === undefined || options === null || isObject(options));
  return {
    ...value,
    model: upstreamModel,
    ...(wishes ? { stream_options: { ...(options as object | undefined), include_usage: true } } : {}),
  };
}

/**
 * The body for a provider, in pieces: the original bytes with the provider's own model name, what the caller's key says
 * about end users and tags, and, when `askUsage` is set, the request for usage at the end of the stream.
 */
export function bodyFor(chat: ChatRequest, upstreamModel: string, askUsage: boolean): readonly Buffer[] {
  const changes = labelChanges(chat);
  const model = chat.members.get('model');
  if (model !== undefined && upstreamModel !== chat.model) {
    changes.push({ ...model, text: JSON.stringify(upstreamModel) });
  }
  if (askUsage && chat.streamed && !chat.wantsUsage) changes.push(...usageWish(chat));
  if (changes.length === 0) return [chat.bytes];
  const pieces: Buffer[] = [];
  let from = 0;
  for (const { start, end, text } of changes.sort((a, b) => a.start - b.start)) {
    pieces.push(chat.bytes.subarray(from, start), Buffer.from(text));
    from = end;
  }
  return [...pieces, chat.bytes.subarray(from)];
}

function usageWish({ bytes, body, members }: ChatRequest): ChatChange[] {
  const span = members.get('stream_options');
  if (span === undefined) {
    const end = body.scan.end - 1;
    return [{ start: end, end, text: ',"stream_options":{"include_usage":true}' }];
  }
  const options = valueAt(bytes, span);
  // Any other value is invalid, and the provider will reject it.
  if (options !== null && !isObject(options)) return [];
  return [{ ...span, text: JSON.stringify({ ...options, include_usage: true }) }];
}

function checkMessages(bytes: Buffer, members: ReadonlyMap<string, Span>): void {
  const span = members.get('messages');
  if (span === undefined || bytes.toString('latin1', span.start, span.start + 5).startsWith('null')) {
    throw missing('messages');
  }
  if (bytes[span.start] !== OPEN_ARRAY) throw wrongType('messages', 'an array');
  if (span.isEmpty === true) {
    throw new AppError('array_below_min_length', 'messages must have at least 1 item', { param: 'messages' });
  }
}

/** Throws AppError `invalid_type`. */
function textOf(bytes: Buffer, members: ReadonlyMap<string, Span>, name: string): string | undefined {
  const value = read(bytes, members, name);
  if (value !== undefined && typeof value !== 'string') throw wrongType(name, 'a string');
  return value;
}

/** `null` counts as absent. */
function read(bytes: Buffer, members: ReadonlyMap<string, Span>, name: string): unknown {
  const span = members.get(name);
  if (span === undefined) return undefined;
  if (span.end - span.start > MAX_READ_BYTES) {
    throw new AppError('string_above_max_length', `${name} must be shorter than ${MAX_READ_BYTES} bytes`, {
      param: name,
    });
  }
  return valueAt(bytes, span) ?? undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function missing(param: string): AppError {
  return new AppError('missing_required_parameter', `Missing required parameter: '${param}'.`, { param });
}

function wrongType(param: string, type: string): AppError {
  return new AppError('invalid_type', `${param} must be ${type}`, { param });
}

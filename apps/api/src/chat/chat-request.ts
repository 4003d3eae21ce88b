import { AppError } from '#contract/app-error.js';
import { SMALL_BODY_BYTES } from '../http/body-memory.js';
import { assertMemberNames, assertStreamOptions } from './chat-members.js';
import { jsonMembers, skipSpace, valueAt, type Span } from './json-members.js';

const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

/** A chat as it was sent, and what must be known of it to pass it on. */
export interface ChatRequest {
  readonly bytes: Buffer;
  readonly model: string;
  readonly streamed: boolean;
  /** Whether the caller wants to see the usage at the end of the stream. */
  readonly wantsUsage: boolean;
  readonly members: ReadonlyMap<string, Span>;
}

/**
 * Checks what the contract says of a chat; all else is the provider's to judge, in large bodies even their grammar.
 * Throws AppError (invalid_json, missing_required_parameter, invalid_type, array_below_min_length, unsupported_parameter).
 */
export function readChatRequest(body: unknown): ChatRequest {
  const bytes = Buffer.isBuffer(body) ? withoutMark(body) : Buffer.alloc(0);
  if (bytes.length <= SMALL_BODY_BYTES) valueAt(bytes, { start: 0, end: bytes.length });
  const members = jsonMembers(bytes);
  assertMemberNames(members.keys());
  assertStreamOptions({ bytes, members });
  const model = read(bytes, members, 'model');
  if (model === undefined) throw missing('model');
  if (typeof model !== 'string') throw wrongType('model', 'a string');
  checkMessages(bytes, members);
  const options = read(bytes, members, 'stream_options');
  return {
    bytes,
    model,
    streamed: read(bytes, members, 'stream') === true,
    wantsUsage: isObject(options) && options['include_usage'] === true,
    members,
  };
}

/**
 * The body for a provider: the bytes as they were sent, but for its own name of the model and, when `askUsage` is
 * set, the wish for usage at the end of the stream.
 */
export function bodyFor(chat: ChatRequest, upstreamModel: string, askUsage: boolean): Buffer {
  const changes: (Span & { readonly text: string })[] = [];
  const model = chat.members.get('model');
  if (model !== undefined && upstreamModel !== chat.model) {
    changes.push({ ...model, text: JSON.stringify(upstreamModel) });
  }
  if (askUsage && chat.streamed && !chat.wantsUsage) changes.push(...usageWish(chat));
  if (changes.length === 0) return chat.bytes;
  const pieces: Buffer[] = [];
  let from = 0;
  for (const { start, end, text } of changes.sort((a, b) => a.start - b.start)) {
    pieces.push(chat.bytes.subarray(from, start), Buffer.from(text));
    from = end;
  }
  return Buffer.concat([...pieces, chat.bytes.subarray(from)]);
}

function usageWish({ bytes, members }: ChatRequest): (Span & { readonly text: string })[] {
  const span = members.get('stream_options');
  if (span === undefined) {
    const end = bytes.lastIndexOf('}');
    return [{ start: end, end, text: ',"stream_options":{"include_usage":true}' }];
  }
  const options = valueAt(bytes, span);
  // What is neither is wrong, and the provider says so.
  if (options !== null && !isObject(options)) return [];
  return [{ ...span, text: JSON.stringify({ ...options, include_usage: true }) }];
}

/** Without the byte order mark, which is no part of JSON. */
function withoutMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

function checkMessages(bytes: Buffer, members: ReadonlyMap<string, Span>): void {
  const span = members.get('messages');
  if (span === undefined || bytes.toString('latin1', span.start, span.start + 5).startsWith('null')) {
    throw missing('messages');
  }
  if (bytes[span.start] !== OPEN_ARRAY) throw wrongType('messages', 'an array');
  if (bytes[skipSpace(bytes, span.start + 1)] === CLOSE_ARRAY) {
    throw new AppError('array_below_min_length', 'messages must have at least 1 item', { param: 'messages' });
  }
}

/** `null` counts as absent. */
function read(bytes: Buffer, members: ReadonlyMap<string, Span>, name: string): unknown {
  const span = members.get(name);
  return span === undefined ? undefined : (valueAt(bytes, span) ?? undefined);
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

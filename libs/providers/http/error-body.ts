import { ByteCollector } from '#bytes/bytes.js';
import { textAt, valueAt } from './json-value.js';

/** Maximum bytes read from an error's body; the reason is at its beginning. */
const MAX_ERROR_BYTES = 65_536;
/** Limits of the search through a body. */
const MAX_VALUES = 400;
const MAX_DEPTH = 6;
/** Characters searched of each text. */
const MAX_TEXT = 2_000;
/** Entries of a list of problems that are quoted. */
const MAX_LISTED = 5;

/** The fields of an error body, except its message, which may quote the key, the host, or the prompt. */
export interface ErrorFields {
  readonly type?: string | undefined;
  readonly code?: string | undefined;
  readonly param?: string | undefined;
}

/** An error's body: parsed if it is JSON, else its text. */
interface ParsedError {
  readonly isJson: boolean;
  readonly value: unknown;
}

/** What an error body says, in the shapes of all vendors. */
export interface ErrorWords {
  /** Its codes, types and reasons. */
  readonly names: readonly string[];
  readonly texts: readonly string[];
  /** It lists what a content filter found. */
  readonly isFiltered: boolean;
}

/** Members with a code, in the shapes of all vendors: `code`, `type`, `errorCode`, `blockReason`, ... */
const NAMES =
  /^_{0,2}(code|type|status|reason|kind|name|class|category|exception|err(or)?_?(code|type|name|class|status)?|sub_?code|status_?code|finish_?reason|native_?finish_?reason|block_?reason|rai_?filtered_?reason)$/i;
const TEXTS =
  /^(message|msg|details?|errors?|err(or)?_?(msg|message|description|detail)|description|title|reason|reasons|info|hint|status_?msg|fail(ure)?_?reason|finish_?message|block_?reason_?message|rai_?filtered_?reason|raw|fault_?string|cause)$/i;
/** Members whose values are searched in turn; a request that an error quotes is not. */
const PARTS =
  /^(errors?|details?|inner_?error|data|response|result|output|metadata|body|fault|failure|base_?resp|header|prompt_?feedback|candidates|predictions|artifacts|images|choices|raw|cause)$/i;
const FILTERS = /^content_?filter(_?results?)?$/i;
/** Members that only moderation sets. */
const FINDINGS = /^(flagged_?(input|content|categories)|block_?reason|rai_?filtered_?reason)$/i;

/** The body of an error, as far as it arrives, and no further than its reason. */
export async function errorBody(body: AsyncIterable<Buffer>): Promise<ParsedError> {
  return parsedError((await errorText(body)).toString());
}

/** The first 64 KB of an error's body, as far as they arrive: the status is enough without them. */
export async function errorText(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const collected = new ByteCollector();
  try {
    for await (const piece of body) {
      collected.add(piece.subarray(0, MAX_ERROR_BYTES - collected.bytes));
      if (collected.bytes === MAX_ERROR_BYTES) break;
    }
  } catch {
    // What has arrived may tell the reason.
  }
  return collected.joined();
}

/** The text of an error's body: parsed if it is JSON, even if it was cut off, else itself. */
export function parsedError(text: string): ParsedError {
  const value = parsed(text.replace(/^\uFEFF/, '')) ?? lenientlyParsed(text);
  return value === undefined ? { isJson: false, value: text } : { isJson: true, value };
}

/** The first code, type and message of JSON that was cut off; undefined if there is none. */
function lenientlyParsed(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return undefined;
  const found: Record<string, string> = {};
  for (const [, name = '', quoted = ''] of text.matchAll(
    /"(code|type|param|message|msg|detail)"\s{0,9}:\s{0,9}("(?:[^"\\]|\\.){1,8000}")/g,
  )) {
    try {
      found[name] ??= JSON.parse(quoted) as string;
    } catch {
      // Another text may be whole.
    }
  }
  const { msg, detail, message = msg ?? detail, ...fields } = found;
  if (message === undefined && Object.keys(fields).length === 0) return undefined;
  return { error: { ...fields, ...(message === undefined ? {} : { message }) } };
}

/** The error itself: some servers send a list of one. */
export function unwrapped(body: unknown): unknown {
  return Array.isArray(body) ? (body as readonly unknown[])[0] : body;
}

/** The fields of an `error` member: an object, or a text without fields. */
export function errorOf(error: unknown): ErrorFields | undefined {
  if (typeof error !== 'string' && (typeof error !== 'object' || error === null)) return undefined;
  const inner = Array.isArray(error) ? (error as readonly unknown[])[0] : error;
  const word = (...names: readonly string[]): string | undefined => {
    const found = names
      .map((name) => valueAt(inner, name))
      .find((one) => typeof one === 'string' || typeof one === 'number');
    return typeof found === 'string' || typeof found === 'number' ? String(found) : undefined;
  };
  return { type: word('type', 'status'), code: word('code'), param: word('param') };
}

/** The fields of an error body: of its `error`, else those of FastAPI's list or of the body itself. */
export function fieldsOf(body: unknown): ErrorFields {
  const value = unwrapped(body);
  const error = valueAt(value, 'error');
  if (typeof error === 'object' && error !== null) return errorOf(error) ?? {};
  const place = valueAt(value, 'detail', 0, 'loc');
  const type = textAt(value, 'detail', 0, 'type');
  const param: unknown = Array.isArray(place) ? place.at(-1) : undefined;
  if (type !== undefined) return { type, param: typeof param === 'string' ? param : undefined };
  return errorOf(value) ?? {};
}

/** How servers name the field that they reject in words, if they name it nowhere else. */
const IN_WORDS = [
  // Pydantic's list of problems as a text, which vLLM sends.
  /'loc': \('body', '(\w{1,64})'/,
  /^(\w{1,64}) (?:must be|required)\b/,
  /^invalid (?:value for )?'?(\w{1,64})\b/i,
  /^requested image (size) /i,
] as const;

/** The request field that a rejection is about according to its message; undefined if that names none. */
export function refusedField(body: unknown): string | undefined {
  const message = messageOf(body)?.slice(0, MAX_TEXT) ?? '';
  return IN_WORDS.map((words) => words.exec(message)?.[1]).find(Boolean);
}

/** The codes and texts of an error body, as far as it is searched: 400 values, six levels deep. */
export function errorWords(body: unknown): ErrorWords {
  const names: string[] = [];
  const texts: string[] = [];
  let left = MAX_VALUES;
  let isFiltered = false;
  function visit(value: unknown, name: string, depth: number): void {
    left -= 1;
    if (left < 0 || depth > MAX_DEPTH) return;
    if (typeof value === 'string' || typeof value === 'number') {
      const text = String(value).slice(0, MAX_TEXT);
      if (NAMES.test(name) && /^[\w. -]{1,100}$/.test(text)) names.push(text);
      if (TEXTS.test(name)) texts.push(text);
      // A gateway quotes its provider's JSON.
      if (/^raw$/i.test(name) && /^\s*[{[]/.test(text)) visit(parsed(text), 'raw', depth + 1);
    } else if (Array.isArray(value)) {
      for (const one of value as readonly unknown[]) visit(one, name, depth + 1);
    } else if (typeof value === 'object' && value !== null) {
      for (const [member, one] of Object.entries(value)) {
        if (FILTERS.test(member)) isFiltered ||= isFiltering(one);
        else if (FINDINGS.test(member) && isFinding(one)) isFiltered = true;
        else if (typeof one !== 'object' || PARTS.test(member)) visit(one, member, depth + 1);
        else if (NAMES.test(member) || TEXTS.test(member)) visit(one, member, depth + 1);
      }
    }
  }
  visit(body, typeof body === 'string' ? 'message' : '', 0);
  return { names, texts, isFiltered };
}

function isFinding(value: unknown): boolean {
  return typeof value === 'string'
    ? value !== '' && !/unspecified/i.test(value)
    : typeof value === 'object' && value !== null;
}

/** Azure lists all filters, each with whether it was triggered; Zhipu lists only those that were. */
function isFiltering(value: unknown): boolean {
  const text = JSON.stringify(value);
  return text.length < MAX_TEXT && /"filtered":true|"level":\d/.test(text);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Paths of the message in error bodies: OpenAI's and Google's, then those of frameworks, then older ones of vendors.
 */
const PLACES = [
  ['error', 'message'],
  ['error', 'msg'],
  ['error', 'detail'],
  ['error', 'error'],
  ['error'],
  ['message'],
  ['detail', 'message'],
  ['detail', 'error'],
  ['detail'],
  ['errors'],
  ['msg'],
  ['data', 'error', 'message'],
  ['data', 'error'],
  ['exception_message'],
  ['error_message'],
  ['error_msg'],
  ['error_description'],
  ['errorMessage'],
  ['base_resp', 'status_msg'],
  ['output', 'message'],
  ['header', 'message'],
  ['fault', 'faultstring'],
  ['data', 'message'],
  ['data', 'fail_reason'],
  ['fail_reason'],
  ['description'],
  ['title'],
] as const;

/** The message of an error body, as it was sent; undefined if there is none. */
export function messageOf(body: unknown): string | undefined {
  if (typeof body === 'string') return plainText(body);
  const value = unwrapped(body);
  return PLACES.map((path) => messageAt(value, path)).find(Boolean);
}

function messageAt(value: unknown, path: readonly string[]): string | undefined {
  // A path into a string would return single characters.
  if (typeof valueAt(value, ...path.slice(0, -1)) === 'string') return undefined;
  const found = valueAt(value, ...path);
  if (typeof found === 'string') return found;
  if (Array.isArray(found)) return listed(found as readonly unknown[]);
  // Frameworks list problems by field.
  return path[0] === 'errors' && typeof found === 'object' && found !== null
    ? listed(Object.entries(found).map(([name, texts]) => ({ loc: [name], msg: String(texts) })))
    : undefined;
}

/** A list of problems as one text, each with the field that it is about. */
function listed(problems: readonly unknown[]): string | undefined {
  const texts = problems.slice(0, MAX_LISTED).flatMap((problem) => {
    if (typeof problem === 'string') return [problem];
    const text = ['msg', 'message', 'detail', 'title'].map((name) => textAt(problem, name)).find(Boolean);
    const place = valueAt(problem, 'loc');
    const field: unknown = Array.isArray(place) ? place.at(-1) : undefined;
    if (text === undefined) return [];
    return [typeof field === 'string' && problems.length > 1 ? `${field}: ${text}` : text];
  });
  return texts.length === 0 ? undefined : texts.join('; ');
}

/** Of a page, only its title; nothing of JSON that breaks off. */
function plainText(body: string): string | undefined {
  if (!/^\s*[<{["]/.test(body)) return body;
  return /^\s*</.test(body) ? /<title>([^<]{1,200})<\/title>/i.exec(body)?.[1] : undefined;
}

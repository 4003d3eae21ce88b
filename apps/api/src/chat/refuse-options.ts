import type { TokenPrices } from '#catalog/catalog.js';
import { CHAT_EXTRAS } from '#catalog/catalog.js';
import { AppError } from '#contract/app-error.js';
import { LongText } from '#contract/long-text.js';
import type { ScannedBody } from '../common/fastify/json-body.js';
import { RESPONSES, type ChatApi } from './chat-api.js';
import { jsonMembers, membersIn, valueAt, type Span } from './json-members.js';

/** The bytes of a chat, and the positions of its members. */
interface ChatMembers {
  readonly bytes: Buffer;
  readonly members: ReadonlyMap<string, Span>;
}

/**
 * Members that are read here or change the price: if another spelling were accepted, only some servers would understand it.
 */
const READ = [
  ...['model', 'messages', 'stream', 'stream_options', 'n', 'max_tokens', 'max_completion_tokens'],
  ...['input', 'max_output_tokens', 'previous_response_id', 'conversation', 'store'],
];
const BY_SPELLING = new Map([...READ, ...CHAT_EXTRAS, 'include_usage'].map((name) => [spellingOf(name), name]));
/** Longer names can't be spellings of these. */
const MAX_NAME = 200;
/** Bytes read of a boolean; a longer value is not one. */
const MAX_SWITCH = 6;
/** Largest value that is checked, in bytes. */
const MAX_VALUE = 262_144;
/** Tools that the caller runs, and their members; the provider runs all others, and charges per call. */
const OWN_TOOLS = ['function', 'custom', 'local_shell', 'apply_patch', 'namespace', 'tool_search'];
const OWN_TOOL_MEMBERS = [
  ...['function', 'custom', 'type', 'name', 'description', 'parameters', 'strict', 'cache_control'],
  // Only in Responses: `tools` of a namespace, and `execution` of a tool search, by the caller.
  ...['format', 'defer_loading', 'output_schema', 'tools', 'execution'],
];
const IMAGE_TOOL = 'image_generation';
/** Extras that mean nothing in chat completions. */
const ONLY_IN_RESPONSES: readonly string[] = ['background', 'prompt'];
/** Values without an extra charge. */
const USUAL: Readonly<Record<string, readonly unknown[]>> = {
  service_tier: ['auto', 'default', 'flex'],
  modalities: ['text'],
  web_search: [false],
  enable_search: [false],
  enable_code_interpreter: [false],
  deferred: [false],
  background: [false],
};

/**
 * Some servers ignore case, separators or Unicode forms in names, so another spelling of a field that is read here
 * would be understood there but not here. Throws AppError `unsupported_parameter`.
 */
export function assertMemberNames(names: Iterable<string>): void {
  for (const name of names) {
    if (name.length > MAX_NAME) continue;
    const meant = BY_SPELLING.get(spellingOf(name));
    if (meant === undefined || meant === name) continue;
    throw new AppError('unsupported_parameter', `Use the exact spelling '${meant}'.`, { param: meant });
  }
}

/** The same for these names alone. */
export function assertSpelling(names: Iterable<string>, known: readonly string[]): void {
  for (const name of names) {
    const meant = name.length > MAX_NAME ? undefined : known.find((one) => spellingOf(one) === spellingOf(name));
    if (meant === undefined || meant === name) continue;
    throw new AppError('unsupported_parameter', `Use the exact spelling '${meant}'.`, { param: meant });
  }
}

/**
 * `stream` and its options must mean the same here as at every provider. Throws AppError (invalid_type, invalid_json,
 * unsupported_parameter).
 */
export function assertStreamOptions({ bytes, members }: ChatMembers): void {
  const stream = members.get('stream');
  const text = stream && bytes.toString('latin1', stream.start, Math.min(stream.end, stream.start + MAX_SWITCH));
  if (text !== undefined && !/^(?:true|false|null)$/.test(text)) {
    throw new AppError('invalid_type', 'stream must be a boolean', { param: 'stream' });
  }
  const options = members.get('stream_options');
  if (options === undefined || bytes[options.start] !== 0x7b) return;
  assertMemberNames(jsonMembers(bytes.subarray(options.start, options.end)).keys());
}

/** Rejects options that the model's price does not cover. Throws AppError `unsupported_parameter`. */
export function assertCovered(
  { api, bytes, members, body }: ChatMembers & { readonly api: ChatApi; readonly body: ScannedBody },
  { covers = [] }: TokenPrices,
): void {
  for (const name of CHAT_EXTRAS) {
    const span = members.get(name);
    if (span === undefined || covers.includes(name)) continue;
    if (api !== RESPONSES && ONLY_IN_RESPONSES.includes(name)) continue;
    if (span.end - span.start <= MAX_VALUE && areUsual(name, bytes.subarray(span.start, span.end))) continue;
    throw notCovered(name, name);
  }
  if (body.scan.hasItemTools && !covers.includes('tools')) throw notCovered('tools in the items of input', 'input');
}

/**
 * Rejects OpenAI's own image tool, whose images would have no task and no price here, unless the model's price covers
 * tools. Throws AppError `unsupported_parameter`.
 */
export function assertNoImageTool({ bytes, members }: ChatMembers, covers: readonly string[] = []): void {
  if (covers.includes('tools')) return;
  const index = imageToolIn({ bytes, members });
  if (index === -1) return;
  const text = `No provider of this model offers the ${IMAGE_TOOL} tool: generate images with POST /v1/images/generations, and edit them with POST /v1/images/edits.`;
  throw new AppError('unsupported_parameter', text, { param: `tools[${index}]` });
}

/**
 * Rejects what asks for images in the response to a chat, for a line of a batch: its row has no room for them. Throws
 * AppError `unsupported_parameter`.
 */
export function assertNoImages(chat: ChatMembers): void {
  const index = imageToolIn(chat);
  const span = chat.members.get('modalities');
  const kinds = span === undefined ? [] : [valueAt(chat.bytes, span)].flat();
  if (index === -1 && !kinds.includes('image')) return;
  const text = 'A chat in a batch has no images in its response: order them in a batch of /v1/images/generations.';
  throw new AppError('unsupported_parameter', text, { param: index === -1 ? 'modalities' : `tools[${index}]` });
}

/** Where the image tool is among the tools; -1 if it is none of them. */
function imageToolIn({ bytes, members }: ChatMembers): number {
  const span = members.get('tools');
  if (span === undefined) return -1;
  const json = bytes.subarray(span.start, span.end);
  if (!json.includes(IMAGE_TOOL)) return -1;
  const tools = [valueAt(json, { start: 0, end: json.length })].flat() as ({ readonly type?: unknown } | null)[];
  return tools.findIndex((tool) => tool?.type === IMAGE_TOOL);
}

function notCovered(what: string, param: string): AppError {
  const text = `${what} can raise the cost of this chat, which the price of the model does not cover.`;
  return new AppError('unsupported_parameter', text, { param });
}

/** Also false for duplicate members: some servers read the first and some the last, so their meaning is unknown. */
function areUsual(name: string, json: Buffer): boolean {
  const value = valueAt(json, { start: 0, end: json.length });
  if (value === null) return true;
  return [value].flat().every((one) => isUsual(name, one)) && membersIn(json) === countMembers(value);
}

function isUsual(name: string, value: unknown): boolean {
  return name === 'tools' ? isOwnTool(value) : (USUAL[name] ?? []).includes(value);
}

function isOwnTool(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { type, tools, execution } = value as Readonly<Record<string, unknown>>;
  return (
    OWN_TOOLS.includes(String(type)) &&
    Object.keys(value).every((member) => OWN_TOOL_MEMBERS.includes(member)) &&
    (type === 'tool_search' ? execution === 'client' : execution === undefined) &&
    (type === 'namespace' ? Array.isArray(tools) && tools.every(isOwnTool) : tools === undefined)
  );
}

/** Counts the members of all objects in a value. */
export function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null || value instanceof LongText) return 0;
  const items = Object.values(value);
  return items.reduce<number>((sum, item) => sum + countMembers(item), Array.isArray(value) ? 0 : items.length);
}

/** The letters and digits of a name, in lower case and one Unicode form. */
function spellingOf(name: string): string {
  return name
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');
}

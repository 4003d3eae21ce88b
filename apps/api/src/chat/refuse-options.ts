import type { TokenPrices } from '#catalog/catalog.js';
import { CHAT_EXTRAS } from '#catalog/catalog.js';
import { AppError } from '#contract/app-error.js';
import { jsonMembers, membersIn, valueAt, type Span } from './json-members.js';

/** The bytes of a chat, and the positions of its members. */
interface ChatMembers {
  readonly bytes: Buffer;
  readonly members: ReadonlyMap<string, Span>;
}

/**
 * Members that are read here or change the price: if another spelling were accepted, only some servers would understand it.
 */
const READ = ['model', 'messages', 'stream', 'stream_options', 'n', 'max_tokens', 'max_completion_tokens'];
const BY_SPELLING = new Map([...READ, ...CHAT_EXTRAS, 'include_usage'].map((name) => [spellingOf(name), name]));
/** Longer names can't be spellings of these. */
const MAX_NAME = 200;
/** Bytes read of a boolean; a longer value is not one. */
const MAX_SWITCH = 6;
/** Largest value that is checked, in bytes. */
const MAX_VALUE = 262_144;
/** Tools that the caller runs, and their members; the provider runs all others, and charges per call. */
const OWN_TOOLS = ['function', 'custom'];
const OWN_TOOL_MEMBERS = [...OWN_TOOLS, 'type', 'name', 'description', 'parameters', 'strict', 'cache_control'];
/** Values without an extra charge. */
const USUAL: Readonly<Record<string, readonly unknown[]>> = {
  service_tier: ['auto', 'default', 'flex'],
  modalities: ['text'],
  web_search: [false],
  enable_search: [false],
  enable_code_interpreter: [false],
  deferred: [false],
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
export function assertCovered({ bytes, members }: ChatMembers, { covers = [] }: TokenPrices): void {
  for (const name of CHAT_EXTRAS) {
    const span = members.get(name);
    if (span === undefined || covers.includes(name)) continue;
    if (span.end - span.start <= MAX_VALUE && areUsual(name, bytes.subarray(span.start, span.end))) continue;
    const text = `${name} can raise the cost of this chat, which the price of the model does not cover.`;
    throw new AppError('unsupported_parameter', text, { param: name });
  }
}

/** Also false for duplicate members: some servers read the first and some the last, so their meaning is unknown. */
function areUsual(name: string, json: Buffer): boolean {
  const value = valueAt(json, { start: 0, end: json.length });
  if (value === null) return true;
  return [value].flat().every((one) => isUsual(name, one)) && membersIn(json) === countMembers(value);
}

function isUsual(name: string, value: unknown): boolean {
  if (name !== 'tools') return (USUAL[name] ?? []).includes(value);
  if (typeof value !== 'object' || value === null) return false;
  return (
    OWN_TOOLS.includes((value as { type?: string }).type ?? '') &&
    Object.keys(value).every((member) => OWN_TOOL_MEMBERS.includes(member))
  );
}

/** Counts the members of all objects in a value. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
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

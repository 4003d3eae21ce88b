import type { TokenPrices } from '#catalog/catalog.js';
import { CHAT_EXTRAS } from '#catalog/catalog.js';
import { AppError } from '#contract/app-error.js';
import { jsonMembers, valueAt, type Span } from './json-members.js';

/** The bytes of a chat, and where its members stand in them. */
interface ChatMembers {
  readonly bytes: Buffer;
  readonly members: ReadonlyMap<string, Span>;
}

/** What is read of a chat, and what changes its price: another spelling of these would be read by some servers only. */
const READ = ['model', 'messages', 'stream', 'stream_options', 'n', 'max_tokens', 'max_completion_tokens'];
const BY_SPELLING = new Map([...READ, ...CHAT_EXTRAS, 'include_usage'].map((name) => [spellingOf(name), name]));
/** Longer names are no spelling of these, however they are written. */
const MAX_NAME = 200;
/** Bytes of what may be usual. */
const MAX_VALUE = 262_144;
/** Tools that the caller runs; all others the vendor runs, and bills by the call. */
const OWN_TOOLS = ['function', 'custom'];
/** Values that cost no more than what is usual. */
const USUAL: Readonly<Record<string, readonly string[]>> = {
  service_tier: ['auto', 'default', 'flex'],
  modalities: ['text'],
};

/**
 * Some servers do not mind case, separators or the form of letters in names: another spelling of a field that is read
 * here would be judged one way here and another way there. Throws AppError `unsupported_parameter`.
 */
export function assertMemberNames(names: Iterable<string>): void {
  for (const name of names) {
    if (name.length > MAX_NAME) continue;
    const meant = BY_SPELLING.get(spellingOf(name));
    if (meant === undefined || meant === name) continue;
    throw new AppError('unsupported_parameter', `Another spelling of '${meant}' is not accepted.`, { param: meant });
  }
}

/** `stream` and its options must be read here as everywhere. Throws AppError (invalid_type, invalid_json, unsupported_parameter). */
export function assertStreamOptions({ bytes, members }: ChatMembers): void {
  const stream = members.get('stream');
  if (stream !== undefined && !/^(?:true|false|null)$/.test(bytes.toString('latin1', stream.start, stream.end))) {
    throw new AppError('invalid_type', 'stream must be a boolean', { param: 'stream' });
  }
  const options = members.get('stream_options');
  if (options === undefined || bytes[options.start] !== 0x7b) return;
  assertMemberNames(jsonMembers(bytes.subarray(options.start, options.end)).keys());
}

/** Refuses what the model's price does not cover. Throws AppError `unsupported_parameter`. */
export function assertCovered({ bytes, members }: ChatMembers, { covers = [] }: TokenPrices): void {
  for (const name of CHAT_EXTRAS) {
    const span = members.get(name);
    if (span === undefined || covers.includes(name)) continue;
    const value = span.end - span.start > MAX_VALUE ? undefined : valueAt(bytes, span);
    if (value === null || [value].flat().every((one) => isUsual(name, one))) continue;
    const text = `${name} may change what this chat costs, and the price of the model does not cover that.`;
    throw new AppError('unsupported_parameter', text, { param: name });
  }
}

function isUsual(name: string, value: unknown): boolean {
  if (name !== 'tools') return (USUAL[name] ?? []).includes(value as string);
  return OWN_TOOLS.includes((value as { type?: string } | null)?.type ?? '');
}

/** The letters and digits of a name, whatever their case and form. */
function spellingOf(name: string): string {
  return name
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');
}

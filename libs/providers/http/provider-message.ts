import { messageOf } from './error-body.js';

/** Length of the kept message, in code points. */
const MAX_LENGTH = 300;
/** Length of the text that is processed, to limit the time for the patterns. */
const MAX_READ = 4_000;
/** Shorter secrets are not replaced, because they may be ordinary words. */
const MIN_SECRET_LENGTH = 6;
const REDACTED = '[redacted]';

const CUTS: readonly (readonly [RegExp, string])[] = [
  [/\bdata:[\w.+/-]*[;,]\S*/gi, '[data]'],
  [/[A-Za-z0-9+/]{64,}={0,2}/g, '[data]'],
  [/\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/@]+@/gi, '$1'],
  [/([?&])[\w.[\]%-]+=[^\s"'<>)]*/g, '$1…'],
  [/\b(bearer\s+)[^\s"',;]+/gi, `$1${REDACTED}`],
  [/\b(basic\s+)[A-Za-z0-9+/]{16,}={0,2}/gi, `$1${REDACTED}`],
  [/((?:key|token|secret|password|signature|authorization)["']?\s*[:=]\s*["']?)[^\s"',;]{6,}/gi, `$1${REDACTED}`],
  // Vendors mask the middle of rejected keys with asterisks.
  [/\b(?:(?:sk|pk|rk|gsk|xai|hf|fal|ghp|r8)[_-]|AKIA|AIza|ya29|eyJ)[\w.*-]{6,}/g, REDACTED],
  [/\w*\*{3,}[\w*]*/g, REDACTED],
];
const LONG_WORD = /[\w+~-]{16,}={0,2}/g;
/** Model names have short parts; keys, tokens, and hashes have long ones of letters and digits. */
const RANDOM_PART = /(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{16,}/;

/**
 * The vendor's message about a failure, in a form that may be stored for operators; from a parsed JSON error body or a
 * short plain text. At most 300 characters on one line, without control characters, the call's `secrets`, anything else
 * that looks like a key or token, query strings, and image bytes. Undefined if there is no message.
 */
export function providerMessage(body: unknown, secrets: readonly string[]): string | undefined {
  const said = messageOf(body);
  if (said === undefined) return undefined;
  // A secret that was cut in two would not be found, so drop the last word.
  const read = said.length > MAX_READ ? said.slice(0, MAX_READ).replace(/\S+$/, '') : said;
  let text = read
    .replace(/\p{Cf}/gu, '')
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  for (const secret of secrets) {
    if (secret.length >= MIN_SECRET_LENGTH) text = text.replaceAll(secret, REDACTED);
  }
  for (const [pattern, replacement] of CUTS) text = text.replace(pattern, replacement);
  text = text.replace(LONG_WORD, (word) => (RANDOM_PART.test(word) ? REDACTED : word));
  const points = Array.from(text);
  if (points.length > MAX_LENGTH) text = `${points.slice(0, MAX_LENGTH - 1).join('')}…`;
  return text === '' ? undefined : text;
}

/** Addresses in a message: URLs, IP addresses, names with a port, and names in the usual domains of servers. */
const ADDRESSES: readonly RegExp[] = [
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>)\]]+/gi,
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g,
  /\[?\b(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{0,4}\]?(?::\d{1,5})?/gi,
  /\b[a-z][\w-]*(?:\.[\w-]+)*:\d{2,5}\b/gi,
  /\b(?:[\w-]+\.)+(?:com|net|org|io|ai|dev|app|cn|co|cloud|run|internal|local|localdomain|lan|svc|test|example|localhost)\b/gi,
];

/**
 * The vendor's message, already redacted by `providerMessage`, as its caller may see it: without the server's name,
 * and whatever else looks like an address.
 */
export function callerReason(message: string | undefined, host: string): string | undefined {
  if (message === undefined) return undefined;
  let text = host.length < MIN_SECRET_LENGTH ? message : message.replaceAll(host, '[address]');
  for (const pattern of ADDRESSES) text = text.replace(pattern, '[address]');
  return text;
}

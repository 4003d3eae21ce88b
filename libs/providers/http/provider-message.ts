import { textAt, valueAt } from './json-value.js';

/** Length of the kept message, in code points. */
const MAX_LENGTH = 300;
/** Length of the text that is processed, to limit the time for the patterns. */
const MAX_READ = 4_000;
/** Shorter secrets are not replaced, because they may be ordinary words. */
const MIN_SECRET_LENGTH = 6;
const REDACTED = '[redacted]';

/**
 * Paths of the message in error bodies: OpenAI's and Google's, then those of frameworks, then older ones of vendors.
 */
const PLACES = [
  ['error', 'message'],
  ['error', 'detail'],
  ['error'],
  ['message'],
  ['detail', 0, 'msg'],
  ['detail', 'message'],
  ['detail'],
  ['msg'],
  ['data', 'error', 'message'],
  ['data', 'error'],
  ['exception_message'],
] as const;

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
  const said = typeof body === 'string' ? plainText(body) : PLACES.map((path) => textIn(body, path)).find(Boolean);
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

function textIn(body: unknown, path: readonly (string | number)[]): string | undefined {
  // A path into a string would return single characters.
  return typeof valueAt(body, ...path.slice(0, -1)) === 'string' ? undefined : textAt(body, ...path);
}

/** Excludes HTML pages and truncated JSON. */
function plainText(body: string): string | undefined {
  return /^\s*[<{["]/.test(body) ? undefined : body;
}

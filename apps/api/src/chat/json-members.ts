import { AppError } from '#contract/app-error.js';

/** Where a value stands: from its first byte to the byte after its last. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * Where the members of a JSON object stand in its bytes, by name. Values are passed over, long texts at the speed of
 * a search, and not judged: whether they are valid inside is another's matter.
 * Throws AppError `invalid_json` when the bytes are no object, or name a member twice, which readers judge differently.
 */
export function jsonMembers(bytes: Buffer): ReadonlyMap<string, Span> {
  const members = new Map<string, Span>();
  let at = skipSpace(bytes, 0);
  if (bytes[at] !== OPEN_OBJECT) throw new AppError('invalid_json', 'The request body must be a JSON object.');
  at = skipSpace(bytes, at + 1);
  while (bytes[at] !== CLOSE_OBJECT) {
    if (members.size > 0) at = skipSpace(bytes, expect(bytes, at, COMMA));
    const nameEnd = endOfText(bytes, at);
    const name = textOf(bytes, { start: at, end: nameEnd });
    if (members.has(name)) throw new AppError('invalid_json', 'The request body names a member twice.');
    const start = skipSpace(bytes, expect(bytes, skipSpace(bytes, nameEnd), COLON));
    const end = endOfValue(bytes, start);
    members.set(name, { start, end });
    at = skipSpace(bytes, end);
  }
  if (skipSpace(bytes, at + 1) !== bytes.length) throw invalid();
  return members;
}

/** The value of a span. Throws AppError `invalid_json`. */
export function valueAt(bytes: Buffer, { start, end }: Span): unknown {
  try {
    return JSON.parse(bytes.toString('utf8', start, end));
  } catch {
    throw invalid();
  }
}

/** The first byte at or after `at` that is no white space. */
export function skipSpace(bytes: Buffer, at: number): number {
  let next = at;
  for (;;) {
    const byte = bytes[next];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return next;
    next++;
  }
}

function textOf(bytes: Buffer, span: Span): string {
  const plain = bytes.toString('utf8', span.start + 1, span.end - 1);
  return plain.includes('\\') ? String(valueAt(bytes, span)) : plain;
}

function expect(bytes: Buffer, at: number, byte: number): number {
  if (bytes[at] !== byte) throw invalid();
  return at + 1;
}

function endOfValue(bytes: Buffer, start: number): number {
  const first = bytes[start];
  if (first === QUOTE) return endOfText(bytes, start);
  if (first === OPEN_OBJECT || first === OPEN_ARRAY) return endOfNested(bytes, start);
  let at = start;
  while (at < bytes.length && !endsScalar(bytes[at])) at++;
  if (at === start) throw invalid();
  return at;
}

function endOfNested(bytes: Buffer, start: number): number {
  let depth = 0;
  let at = start;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = endOfText(bytes, at);
      continue;
    }
    at++;
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++;
    else if ((byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) && --depth === 0) return at;
  }
  throw invalid();
}

/** `start` is the opening quote. */
function endOfText(bytes: Buffer, start: number): number {
  if (bytes[start] !== QUOTE) throw invalid();
  let quote = start;
  for (;;) {
    quote = bytes.indexOf(QUOTE, quote + 1);
    if (quote === -1) throw invalid();
    let before = quote - 1;
    while (bytes[before] === BACKSLASH) before--;
    if ((quote - before) % 2 === 1) return quote + 1;
  }
}

function endsScalar(byte: number | undefined): boolean {
  return (
    byte === COMMA ||
    byte === CLOSE_OBJECT ||
    byte === CLOSE_ARRAY ||
    byte === 0x20 ||
    byte === 0x0a ||
    byte === 0x0d ||
    byte === 0x09
  );
}

function invalid(): AppError {
  return new AppError('invalid_json', 'The request body is not valid JSON.');
}

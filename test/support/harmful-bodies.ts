/** A body that is expensive to parse; `bytes` is its approximate size, `model` the model it names. */
export interface HarmfulBody {
  readonly name: string;
  readonly body: (bytes: number, model?: string) => Buffer;
}

const MESSAGES = `{"role":"user","content":"hello"}],`;
/** Everything up to the messages. */
const start = (model = 'gpt-image-2'): string => `{"model":"${model}","prompt":"a small house","messages":[`;

const filled = (open: string, filling: string | Buffer, close: string, bytes: number): Buffer =>
  Buffer.concat([Buffer.from(open), Buffer.alloc(bytes, filling), Buffer.from(close)]);

/** A complete request, except that `filling` repeats after `"open` until `close`. */
const request = (name: string, open: string, filling: string | Buffer, close: string): HarmfulBody => ({
  name,
  body: (bytes, model) => {
    const piece = Buffer.byteLength(filling);
    return filled(start(model) + open, filling, `${close}}`, Math.floor(bytes / piece) * piece);
  },
});
const member = (name: string, open: string, filling: string | Buffer, close: string): HarmfulBody =>
  request(name, `${MESSAGES}"junk":${open}`, filling, close);
const whole = (model?: string): string => `${start(model)}${MESSAGES}"junk":1}`;

/** JSON, or nearly, that costs a parser far more than its size suggests. */
export const HARMFUL_BODIES: readonly HarmfulBody[] = [
  member('empty objects', '[', '{},', '1]'),
  member('numbers', '[', '1,', '1]'),
  member('depth', '', '[', ''),
  member('depth that ends', '', '[', ']'.repeat(1_000_000)),
  member('a long text', '"', 'a', '"'),
  member('escapes', '"', '\\u00e9', '"'),
  member('broken UTF-8', '"', Buffer.from([0xff, 0xc3]), '"'),
  member('a long number', '', '1', ''),
  member('blanks', '', ' \n', '1'),
  member('a text without end', '"', 'abc\\"', ''),
  member('texts like images', '["data:image', '","data:image', '"]'),
  member('objects within arrays', '[', '[{"a":[]}],', '1]'),
  request('blanks among the messages', '', ' \n', `${MESSAGES}"stream":true`),
  request('messages like images', '', `"data:image/${'a'.repeat(60)}",`, `${MESSAGES}"stream":true`),
  request('a long stream', `${MESSAGES}"stream":"`, 'true', '"'),
  { name: 'blanks before all', body: (bytes, model) => filled('', ' \n', whole(model), bytes) },
  { name: 'blanks after all', body: (bytes, model) => filled(whole(model), ' \n', '', bytes) },
  { name: 'a long name', body: (bytes, model) => filled(`${start(model)}${MESSAGES}"`, 'n', '":1}', bytes) },
  { name: 'names', body: (bytes, model) => filled(start(model) + MESSAGES, names(bytes), '"z":1}', bytes) },
  { name: 'nothing but brackets', body: (bytes) => Buffer.alloc(bytes, '[') },
  { name: 'no JSON', body: (bytes) => Buffer.alloc(bytes, '\u0000') },
];

let known: Buffer | undefined;

/** Members, each with a different name. */
function names(bytes: number): Buffer {
  if (known === undefined || known.length < bytes) {
    const count = Math.ceil(bytes / 10);
    known = Buffer.from(Array.from({ length: count }, (_, at) => `"${at.toString(36).padStart(5, '_')}":1,`).join(''));
  }
  const end = known.lastIndexOf(',', bytes - 1) + 1;
  return Buffer.concat([known.subarray(0, end), Buffer.alloc(bytes - end, ' ')]);
}

/** A body in chunks of one byte each, with HTTP framing. */
export function* byteByByte(bytes: Iterable<number>, count: number): Generator<Buffer> {
  const STEP = 10_000;
  const values = [...bytes];
  for (let at = 0; at < count; at += STEP) {
    const size = Math.min(STEP, count - at);
    const frames = Buffer.alloc(size * 6, '1\r\n?\r\n');
    for (let index = 0; index < size; index++) frames[index * 6 + 3] = values[at + index] ?? 0x20;
    yield frames;
  }
  yield Buffer.from('0\r\n\r\n');
}

/** In pieces, like a client writes them. */
export function* inPieces(bytes: Buffer, size = 65_536): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

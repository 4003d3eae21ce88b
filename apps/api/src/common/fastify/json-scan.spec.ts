import fc from 'fast-check';
import { AppError } from '#contract/app-error.js';
import { LongText } from '#contract/long-text.js';
import { ScannedBody } from './json-body.js';
import { CHAT_LIMITS, JsonScan, PARSED_LIMITS, type ScanLimits } from './json-scan.js';

/** Scans a text that comes in pieces of so many bytes; every second piece is also given as it arrived. */
function scanned(text: string | Buffer, step = Infinity, limits: ScanLimits = CHAT_LIMITS): JsonScan {
  const bytes = Buffer.from(text as string);
  const scan = new JsonScan(limits);
  for (let end = step; end < bytes.length; end += step) {
    if (end % (2 * step) === 0) scan.advance(bytes, end);
    else scan.advance(bytes, end, Buffer.from(bytes.subarray(end - step, end)));
  }
  scan.finish(bytes, bytes.length);
  return scan;
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return error instanceof AppError ? error.code : String(error);
  }
  return 'none';
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether an outermost member of valid JSON is named twice, which JSON.parse takes. */
function namesTwice(text: string): boolean {
  const names: unknown[] = [];
  let depth = 0;
  const tokens = text.match(/"(?:\\.|[^"\\])*"|[{}[\]:,]|[^\s{}[\]:,"]+/g) ?? [];
  for (const [at, token] of tokens.entries()) {
    if (/^[{[]$/.test(token)) depth++;
    else if (/^[}\]]$/.test(token)) depth--;
    else if (depth === 1 && tokens[at + 1] === ':') names.push(JSON.parse(token));
  }
  return new Set(names).size < names.length;
}

const IMAGE = `data:image/png;base64,${'iVBORw0KGgo'.repeat(2_000)}`;

describe('JsonScan', () => {
  const written = fc.json({ maxDepth: 4 });
  const mangled = fc
    .tuple(
      written,
      fc.nat(),
      fc.constantFrom('', '"', '\\', '{', '}', '[', ']', ',', ':', '0', '-', 'e', 'tru', '\u0001'),
    )
    .map(
      ([text, at, piece]) => text.slice(0, at % (text.length + 1)) + piece + text.slice((at + 1) % (text.length + 1)),
    );
  const odd = fc
    .array(fc.constantFrom(...'{}[],:" \\u0019aftrue-.eE\n'), { maxLength: 12 })
    .map((list) => list.join(''));

  it('H2: takes exactly what JSON.parse takes, but no member twice, in whatever pieces it comes', () => {
    fc.assert(
      fc.property(fc.oneof(written, mangled, odd), fc.integer({ min: 1, max: 9 }), (text, step) => {
        const isTaken = isJson(text) && !namesTwice(text);
        expect([text, codeOf(() => scanned(text, step))]).toEqual([text, isTaken ? 'none' : 'invalid_json']);
      }),
      { numRuns: 3_000, examples: [['{"{":"","{":0}', 1]] },
    );
  });

  it('finds the values of the outermost members', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }),
        fc.integer({ min: 1, max: 9 }),
        (value, step) => {
          const bytes = Buffer.from(JSON.stringify(value, undefined, 1));
          const found = [...scanned(bytes, step).members].map(([name, { start, end }]) => [
            name,
            JSON.parse(bytes.toString('utf8', start, end)) as unknown,
          ]);
          expect(found).toEqual(Object.entries(JSON.parse(JSON.stringify(value)) as object));
        },
      ),
    );
  });

  it.each([
    ['tokens', `[${'{},'.repeat(50_000)}1]`, 'invalid_json'],
    ['members', `[${'{"a":1},'.repeat(1_001)}1]`, 'invalid_json'],
    ['outermost members', `{${Array.from({ length: 1_001 }, (_, at) => `"${at}":1`).join()}}`, 'invalid_json'],
    ['a member twice', '{"a":1,"\\u0061":2}', 'invalid_json'],
    ['a long name', `{"${'n'.repeat(1_025)}":1}`, 'invalid_json'],
    ['a long number', '1'.repeat(1_025), 'invalid_json'],
    ['depth', `${'['.repeat(33)}${']'.repeat(33)}`, 'invalid_json'],
    ['text that is no image', `{"prompt":"${'a'.repeat(1_100_000)}"}`, 'request_too_large'],
    ['images and text', `{"a":"${IMAGE}","prompt":"${'a'.repeat(1_100_000)}"}`, 'request_too_large'],
    ['an image as a name', `{"${IMAGE}":1}`, 'invalid_json'],
  ])('H2: a body is refused for %s', (_what, text, code) => {
    for (const step of [4_096, Infinity]) expect(codeOf(() => scanned(text, step, PARSED_LIMITS))).toBe(code);
  });

  it.each([
    ['members', `[${'{"a":1},'.repeat(1_000)}1]`],
    ['depth', `${'['.repeat(32)}${']'.repeat(32)}`],
    ['images', `{"images":["${IMAGE.repeat(60)}"]}`],
  ])('a body may hold %s up to the limit', (_what, text) => {
    for (const step of [4_096, Infinity]) expect(codeOf(() => scanned(text, step, PARSED_LIMITS))).toBe('none');
  });

  it('H2: what is refused for its number of values is refused before the rest is looked at', () => {
    const bytes = Buffer.from(`[${'{},'.repeat(60_000)}`);
    const scan = new JsonScan(PARSED_LIMITS);
    expect(
      codeOf(() => {
        scan.advance(bytes, 160_000);
      }),
    ).toBe('invalid_json');
  });
});

describe('ScannedBody', () => {
  const valueOf = (text: string): unknown => ScannedBody.of(Buffer.from(text), PARSED_LIMITS).value();

  it('has images as the bytes that were sent, and all else as it is', () => {
    const text = JSON.stringify({
      a: IMAGE,
      list: [1, IMAGE.toUpperCase(), { __proto__: null, b: 'é' }],
      c: 'data:image',
    });
    const value = valueOf(text.replace('"list"', '"__proto__":{"x":1},"list"')) as Record<string, unknown>;
    expect(Object.keys(value)).toEqual(['a', '__proto__', 'list', 'c']);
    const a = value['a'] as LongText;
    const list = value['list'] as [number, LongText, object];
    expect([[...a.pieces(1_000)].join(''), [...list[1].pieces(7_777)].join('')]).toEqual([IMAGE, IMAGE.toUpperCase()]);
    expect([list[0], list[2], value['c']]).toEqual([1, { b: 'é' }, 'data:image']);
  });

  it('takes no text of a caller for an image', () => {
    const value = valueOf(JSON.stringify({ a: IMAGE, b: '0', c: 'image0' })) as Record<string, unknown>;
    expect([value['b'], value['c']]).toEqual(['0', 'image0']);
  });
});

describe('LongText', () => {
  it('is the text it was written as, in pieces of any length', () => {
    const unit = fc.oneof(fc.constantFrom('\\', '"', '\n', '/', 'é', '语', '😀', 'A'.repeat(20_000)), fc.string());
    fc.assert(
      fc.property(
        fc.array(unit, { minLength: 1 }),
        fc.integer({ min: 1, max: 40_000 }),
        fc.boolean(),
        (units, size, escaped) => {
          const text = units.join('');
          const json = escaped
            ? [...text].map((character) => (character === '/' ? '\\/' : escape(character))).join('')
            : JSON.stringify(text).slice(1, -1);
          const pieces = [...new LongText(Buffer.from(json)).pieces(size)];
          expect(pieces.join('')).toBe(text);
          expect(pieces.slice(0, -1).every(({ length }) => length === size)).toBe(true);
        },
      ),
    );
  });
});

function escape(character: string): string {
  return Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');
}

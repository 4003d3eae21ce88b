import fc from 'fast-check';
import { LongText } from './long-text.js';

/** As the bytes of a JSON body: some characters as they are, some escaped. */
const escaped = (text: string, every: number): Buffer => {
  const asItIs = (character: string): string => JSON.stringify(character).slice(1, -1);
  const asEscape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return Buffer.from(
    Array.from(text, (character, at) =>
      at % every === 0 ? character.split('').map(asEscape).join('') : asItIs(character),
    ).join(''),
  );
};

describe('LongText', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 400 });

  it('has the characters that its JSON has, in pieces of any length', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 300 }), (whole, every, length) => {
        const long = new LongText(escaped(whole, every));
        const pieces = [...long.pieces(length)];
        expect(pieces.join('')).toBe(whole);
        expect(pieces.slice(0, -1).every((piece) => piece.length === length)).toBe(true);
        expect(long.start(length)).toBe(whole.slice(0, length));
      }),
    );
  });

  it('H2: decodes no more for its start than that takes, however long it is', () => {
    const raw = Buffer.from('\\n'.repeat(5_000_000));
    const read: number[] = [];
    const subarray = raw.subarray.bind(raw);
    raw.subarray = (start = 0, end = raw.length) => {
      read.push(end - start);
      return subarray(start, end);
    };
    expect(new LongText(raw).start(128)).toBe('\n'.repeat(128));
    expect(read).toEqual([768]);
  });
});

import fc from 'fast-check';
import { endOfPlainText } from './plain-text.js';

describe('endOfPlainText', () => {
  /** Base64 mostly, with a few bytes that are close to those that end a text. */
  const odd = fc.constantFrom(0x00, 0x1f, 0x20, 0x21, 0x22, 0x23, 0x5b, 0x5c, 0x5d, 0x7f, 0x80, 0x9f, 0xa2, 0xdc, 0xff);
  const place = fc.record({ at: fc.nat(400), byte: odd });

  it('is the first byte that is not simply part of the text, wherever the text lies in memory', () => {
    fc.assert(
      fc.property(
        fc.array(place, { maxLength: 6 }),
        fc.nat(7),
        fc.nat(120),
        fc.nat(400),
        (places, shift, start, last) => {
          const bytes = Buffer.from(new ArrayBuffer(408), shift, 400).fill('iVBORw0KGgo/+=');
          for (const { at, byte } of places) if (at < bytes.length) bytes[at] = byte;
          const end = Math.max(start, last);
          const found = bytes.subarray(start, end).findIndex((byte) => byte === 0x22 || byte === 0x5c || byte < 0x20);
          expect(endOfPlainText(bytes, start, end)).toBe(found === -1 ? end : start + found);
        },
      ),
      { numRuns: 3_000 },
    );
  });
});

import fc from 'fast-check';
import { decodeDataUri } from './data-uri.js';

const decode = (base64: string): Buffer => Buffer.concat([...decodeDataUri(`data:image/png;base64,${base64}`, 'x')]);

describe('decodeDataUri', () => {
  it('gives back the bytes, padded or not', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), (bytes) => {
        const base64 = Buffer.from(bytes).toString('base64');
        expect(decode(base64)).toEqual(Buffer.from(bytes));
        expect(decode(base64.replace(/=+$/, ''))).toEqual(Buffer.from(bytes));
      }),
    );
  });

  it('decodes long data piece by piece', () => {
    const bytes = Buffer.alloc(1_000_001, 'image');
    const pieces = [...decodeDataUri(`data:image/webp;base64,${bytes.toString('base64')}`, 'x')];
    expect(pieces.length).toBeGreaterThan(3);
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
  });

  it.each(['A', 'AAAAA', 'AA=A', 'A===', 'AA A', 'AAA*', '====', 'AA-_', 'AAA%3D'])('refuses "%s"', (base64) => {
    expect(() => decode(base64)).toThrow(/not valid base64/);
  });

  it('refuses padding in the middle of long data', () => {
    const long = 'A'.repeat(262_143) + '=' + 'AAAA';
    expect(() => decode(long)).toThrow(/not valid base64/);
  });
});

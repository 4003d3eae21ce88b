import fc from 'fast-check';
import { referenceProblem } from '#contract/image-reference.js';
import { LongText } from '#contract/long-text.js';
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

  it('takes exactly the texts that are base64', () => {
    const letters = fc.constantFrom(...'AZaz09+/=-_ %\n*\u00e4');
    fc.assert(
      fc.property(fc.array(letters, { minLength: 1, maxLength: 12 }), (list) => {
        const text = list.join('');
        const decoded = text.trimStart().replace(/%0A/gi, '\n').replaceAll('\n', '').trimEnd();
        const whole = decoded.replaceAll('-', '+').replaceAll('_', '/');
        // Lines may break anywhere. Groups of four; the last may have two or three letters, with or without the padding that fills it up.
        const right = /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}(==)?|[A-Za-z0-9+/]{3}=?)?$/.test(whole);
        if (right) expect(decode(text)).toEqual(Buffer.from(whole, 'base64'));
        else expect(() => decode(text)).toThrow(/not valid base64/);
      }),
      { numRuns: 2_000 },
    );
  });

  it('decodes long data piece by piece', () => {
    const bytes = Buffer.alloc(1_000_001, 'image');
    const pieces = [...decodeDataUri(`data:image/webp;base64,${bytes.toString('base64')}`, 'x')];
    expect(pieces.length).toBeGreaterThan(3);
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
  });

  it.each(['image/png;charset=utf-8', 'image/jpeg;name=a.jpg;charset=US-ASCII', 'IMAGE/WEBP;a='])(
    'passes over parameters: data:%s',
    (type) => {
      const uri = `data:${type};base64,${Buffer.from('image').toString('base64')}`;
      expect(referenceProblem(uri, 'x')).toBeUndefined();
      expect(Buffer.concat([...decodeDataUri(uri, 'x')]).toString()).toBe('image');
    },
  );

  it('takes data in lines, as mail has it', () => {
    const bytes = Buffer.alloc(1_000_001, 'image');
    const lines = bytes.toString('base64').replace(/.{76}/g, '$&\r\n');
    expect(decode(lines).equals(bytes)).toBe(true);
    const long = new LongText(Buffer.from(JSON.stringify(`data:image/png;base64,${lines}`).slice(1, -1)));
    expect(Buffer.concat([...decodeDataUri(long, 'x')]).equals(bytes)).toBe(true);
  });

  it('gives back an empty chunk for line breaks alone, so that its reader can let others in', () => {
    const pieces = [...decodeDataUri(`data:image/png;base64,${'\r\n'.repeat(1_000_000)}QUJD`, 'x')];
    expect(pieces.length).toBeGreaterThan(5);
    expect(Buffer.concat(pieces).toString()).toBe('ABC');
  });

  it('takes the alphabet for URLs and percent-encoded characters, wherever the text is divided', () => {
    const bytes = Buffer.alloc(400_000, Buffer.from([0xfb, 0xff, 0xfe, 0x3e]));
    expect(decode(bytes.toString('base64url')).equals(bytes)).toBe(true);
    for (const offset of ['', 'AAAA', 'AAAAAAAA']) {
      const encoded = encodeURIComponent(offset + bytes.toString('base64'));
      expect(decode(encoded).equals(Buffer.from(offset + bytes.toString('base64'), 'base64'))).toBe(true);
    }
    expect(decode(' QUJD%0D%0A').toString()).toBe('ABC');
  });

  it.each(['A', 'AAAAA', 'AA=A', 'A===', 'AA A', 'AAA*', '====', 'AAA%', 'AAA%3', 'AAA%ZZ'])(
    'refuses "%s"',
    (base64) => {
      expect(() => decode(base64)).toThrow(/not valid base64/);
    },
  );

  it('refuses padding in the middle of long data', () => {
    // In the middle of a piece, at its end, and where the next one begins.
    for (const at of [98_281, 98_282, 98_283, 98_303, 262_143]) {
      for (const padding of ['=', '==', '===']) {
        expect(() => decode('A'.repeat(at) + padding + 'AAAA')).toThrow(/not valid base64/);
      }
    }
  });
});

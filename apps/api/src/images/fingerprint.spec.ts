import fc from 'fast-check';
import { LongText } from '#contract/long-text.js';
import { fingerprintOf, formBody } from './fingerprint.js';

const COUNTED = { kind: 'unkeyed', retry: 0, counted: true } as const;
const hex = async (body: unknown, action: 'generation' | 'edit' = 'generation', mark = COUNTED): Promise<string> =>
  (await fingerprintOf(action, body, mark)).toString('hex');

describe('fingerprintOf', () => {
  it('is the same whatever the order of keys, at every depth', async () => {
    expect(await hex({ a: 1, b: { c: [1, 2], d: null } })).toBe(await hex({ b: { d: null, c: [1, 2] }, a: 1 }));
  });

  it('is the same for every try that is counted, and another one for clients that do not count', async () => {
    const body = { prompt: 'a house' };
    const of = async (retry: number, counted: boolean): Promise<string> =>
      (await fingerprintOf('generation', body, { kind: 'unkeyed', retry, counted })).toString('hex');
    expect(await of(2, true)).toBe(await hex(body));
    expect(await of(0, false)).not.toBe(await hex(body));
  });

  it('is another one in each region, for each end user, and with other tags in its headers', async () => {
    const of = async (traits: Parameters<typeof fingerprintOf>[3]): Promise<string> =>
      (await fingerprintOf('generation', { prompt: 'a house' }, COUNTED, traits)).toString('hex');
    const all = [{ region: 'eu' }, { region: 'us' }, { endUser: 'eu' }, { endUser: 'us' }, { headerTags: ['eu'] }, {}];
    expect(new Set(await Promise.all(all.map(of))).size).toBe(all.length);
    expect(await of({ region: undefined, endUser: undefined, headerTags: undefined })).toBe(
      await hex({ prompt: 'a house' }),
    );
  });

  it('is the same for an image of a JSON body as for its text, and stays so: rows of earlier versions have it', async () => {
    const image = `data:image/png;base64,${'iVBORw0KGgo'.repeat(60_000)}`;
    const raw = Buffer.from(image);
    const escaped = Buffer.from(image.replaceAll('/', '\\/'));
    const print = await hex({ image_urls: [image] });
    expect(print).toBe('1115ec18d70cd6945820efaee7da4fbf0dc1b6f07e7715dd2f074b7a7d11a3d5');
    expect(await hex({ image_urls: [new LongText(raw)] })).toBe(print);
    expect(await hex({ image_urls: [new LongText(escaped)] })).toBe(print);
    expect(await hex({ image_urls: [new LongText(raw.subarray(5), 'data:')] })).toBe(print);
  });

  it('differs with every other difference', async () => {
    const long = 'x'.repeat(300_000);
    const bodies: unknown[] = [
      {},
      [],
      { a: 1 },
      { a: '1' },
      { a: null },
      { a: [1, 2] },
      { a: [2, 1] },
      { a: [12] },
      { a: '' },
      { a: '\ud800' },
      { a: '\udbff' },
      { a: '\ufffd' },
      { a: long },
      { a: `${long}y` },
      { a: [long.slice(0, 262_144), long.slice(262_144)] },
    ];
    const prints = await Promise.all([...bodies.map((body) => hex(body)), hex({}, 'edit')]);
    expect(new Set(prints).size).toBe(prints.length);
  });
});

/** The same value with the keys of every object in another order. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, item]) => [name, turned(item)]),
  );
}

describe('the fingerprint of any body', () => {
  // A key that reads like an array index always comes first, whatever the order it was given in.
  const body = fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue({ maxDepth: 3 }));

  it('is blind to the order of keys, and to nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(body, body, async (one, other) => {
        expect(await hex(turned(one))).toBe(await hex(one));
        const same = canonical(one) === canonical(other);
        expect((await hex(one)) === (await hex(other))).toBe(same);
      }),
      { numRuns: 300 },
    );
  });

  it('H2: lets other requests in after each part of a long text, also of one that is nothing but escapes', async () => {
    const image = new LongText(Buffer.from('\\n'.repeat(4_000_000)));
    let turns = 0;
    let next = setImmediate(function count() {
      turns++;
      next = setImmediate(count);
    });
    await hex({ image_urls: [image] });
    clearImmediate(next);
    expect(turns).toBeGreaterThanOrEqual(15);
  });

  it('changes with any one value, wherever it stands', async () => {
    const value = fc.oneof(
      fc.string(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
    );
    await fc.assert(
      fc.asyncProperty(body, fc.string(), value, value, async (rest, name, one, other) => {
        const [a, b] = [one, other].map((item) => ({ rest, list: [1, { [name]: item }, 2] }));
        expect((await hex(a)) === (await hex(b))).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
      { numRuns: 300 },
    );
  });
});

/** JSON with sorted keys, made in the plainest way. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, item]) => `${JSON.stringify(name)}:${canonical(item)}`).join()}}`;
}

it('formBody tells the images of a form by their bytes and place, and the mask from the images', () => {
  const input = (key: string) => ({ kind: 'object' as const, key, bytes: 1, param: 'image' });
  const form = {
    texts: { prompt: 'x' },
    images: [input('b'), input('a')],
    mask: input('c'),
    digests: { images: ['two', 'one'], masks: ['three'] },
  };
  expect(formBody(form)).toEqual({ form: { prompt: 'x' }, images: ['two', 'one'], masks: ['three'] });
});

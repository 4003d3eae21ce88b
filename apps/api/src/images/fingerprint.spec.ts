import { fingerprintOf, formBody } from './fingerprint.js';

const hex = async (body: unknown, action: 'generations' | 'edits' = 'generations'): Promise<string> =>
  (await fingerprintOf(action, body)).toString('hex');

describe('fingerprintOf', () => {
  it('is the same whatever the order of keys, at every depth', async () => {
    expect(await hex({ a: 1, b: { c: [1, 2], d: null } })).toBe(await hex({ b: { d: null, c: [1, 2] }, a: 1 }));
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
    const prints = await Promise.all([...bodies.map((body) => hex(body)), hex({}, 'edits')]);
    expect(new Set(prints).size).toBe(prints.length);
  });
});

it('formBody tells the images of a form by their bytes and place, and the mask from the images', () => {
  const input = (key: string) => ({ kind: 'object' as const, key, bytes: 1, param: 'image' });
  const digests = new Map([
    ['a', 'one'],
    ['b', 'two'],
  ]);
  const form = { texts: { prompt: 'x' }, images: [input('b'), input('a')], mask: null, ignored: ['junk'] };
  expect(formBody(form, digests)).toEqual({ form: { prompt: 'x' }, images: ['two', 'one'], masks: [] });
  expect(formBody({ ...form, images: [input('b')], mask: input('a') }, digests)).toMatchObject({
    images: ['two'],
    masks: ['one'],
  });
});

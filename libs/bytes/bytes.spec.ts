import fc from 'fast-check';
import { createHash } from 'node:crypto';
import { ByteCollector, inSlices, joined, sha256Of, SLICE_BYTES } from './bytes.js';

describe('many bytes', () => {
  test('H3: are joined and hashed in slices, between which others have their turn', async () => {
    const bytes = Buffer.alloc(20 * SLICE_BYTES + 7, 'abc');
    for (const work of [() => joined([bytes.subarray(0, 9), bytes.subarray(9)]), () => sha256Of(bytes)]) {
      const state = { turns: 0, over: false };
      const count = (): void => {
        state.turns += 1;
        if (!state.over) setImmediate(count);
      };
      setImmediate(count);
      const done = await work();
      state.over = true;
      expect(state.turns).toBeGreaterThanOrEqual(20);
      expect(Buffer.isBuffer(done) ? done.equals(bytes) : done).toBe(
        Buffer.isBuffer(done) ? true : createHash('sha256').update(bytes).digest('hex'),
      );
    }
  });

  test('come back whole, however they were cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 90_000 }), { maxLength: 12 }), async (pieces) => {
        const whole = Buffer.concat(pieces);
        const collected = new ByteCollector();
        for (const piece of pieces) collected.add(Buffer.from(piece));
        expect((await collected.joined()).equals(whole)).toBe(true);
        expect((await joined(pieces.map((piece) => Buffer.from(piece)))).equals(whole)).toBe(true);
        const slices: Buffer[] = [];
        for await (const slice of inSlices(whole, 1_000)) slices.push(slice);
        expect(Buffer.concat(slices).equals(whole)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  test('H3: that come one at a time are held in few buffers', () => {
    const collected = new ByteCollector();
    const one = Buffer.from('x');
    for (let count = 0; count < 1_000_000; count++) collected.add(one);
    expect(collected.bytes).toBe(1_000_000);
    expect(collected.buffers).toBeLessThanOrEqual(32);
  });
});

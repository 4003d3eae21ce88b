import { jest } from '@jest/globals';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { StorageError } from './object-store.js';
import { storedStream } from './stored-stream.js';

const IDLE_MS = 1_000;

describe('storedStream', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] }));
  afterEach(() => jest.useRealTimers());

  it('gives up on a store that pauses while the reader waits', async () => {
    const source = new Readable({ read: () => undefined });
    const read = buffer(storedStream(source, { bytes: 4, idleTimeoutMs: IDLE_MS }));
    const outcome = expect(read).rejects.toMatchObject({
      name: 'StorageError',
      cause: { message: 'no byte came for 1000 ms' },
    });
    source.push('ab');
    await turn();
    await jest.advanceTimersByTimeAsync(IDLE_MS);
    await outcome;
    expect(source.destroyed).toBe(true);
  });

  it('waits for a reader that pauses', async () => {
    const parts = [Buffer.alloc(200_000, 1), Buffer.alloc(200_000, 2)];
    const chunks = storedStream(Readable.from(parts), { bytes: 400_000, idleTimeoutMs: IDLE_MS }).iterator();
    const first = (await chunks.next()) as { value: Buffer };
    await jest.advanceTimersByTimeAsync(100 * IDLE_MS);
    let bytes = first.value.length;
    for await (const chunk of chunks) bytes += (chunk as Buffer).length;
    expect(bytes).toBe(400_000);
  });

  it.each([
    ['short', 5],
    ['long', 3],
  ])('fails when the object is too %s', async (_, bytes) => {
    await expect(buffer(storedStream(Readable.from([Buffer.from('four')]), { bytes }))).rejects.toThrow(StorageError);
  });

  it('ends with the last byte, and lets the store end in its own time', async () => {
    const source = new Readable({ read: () => undefined });
    const stream = storedStream(source, { bytes: 4, idleTimeoutMs: IDLE_MS });
    source.push('four');
    expect(await buffer(stream)).toEqual(Buffer.from('four'));
    await turn();
    expect([stream.destroyed, source.destroyed]).toEqual([true, false]);
    source.push(null);
    await turn();
    expect(source.readableEnded).toBe(true);
    await expectNoTimeout(source);
  });

  it('lets go of the store when the reader leaves', async () => {
    const source = new Readable({ read: () => undefined });
    const stream = storedStream(source, { bytes: 10, idleTimeoutMs: IDLE_MS });
    stream.resume();
    await turn();
    stream.destroy();
    await turn();
    expect(source.destroyed).toBe(true);
    await expectNoTimeout(source);
  });

  it('keeps quiet about a source that fails before anyone reads', async () => {
    const source = new Readable({ read: () => undefined });
    const stream = storedStream(source, { bytes: 1 });
    source.destroy(new Error('connection reset'));
    await turn();
    await expect(buffer(stream)).rejects.toThrow(StorageError);
  });
});

/** No timer is left that would give up on the store. (Jest's count has those of earlier files, too.) */
async function expectNoTimeout(source: Readable): Promise<void> {
  const destroy = jest.spyOn(source, 'destroy');
  await jest.advanceTimersByTimeAsync(2 * IDLE_MS);
  expect(destroy).not.toHaveBeenCalled();
}

/** Lets streams do what they have scheduled. */
async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

import { createHash, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { ObjectNotFound, type ObjectStore } from '#storage/object-store.js';

const PNG = { contentType: 'image/png' };
const MEGABYTE = 1_048_576;

/** A key that no other test uses. */
export function freshKey(): string {
  return `inputs/${randomUUID()}/0`;
}

/** All keys below a prefix, sorted. */
export async function keysBelow(store: ObjectStore, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const key of store.list(prefix)) keys.push(key);
  return keys.sort();
}

/** A stream of unknown length in pieces, and the digest of its content. */
function piecesOf(megabytes: number): { body: Readable; digest: string } {
  const pieces = Array.from({ length: megabytes }, (_, index) => Buffer.alloc(MEGABYTE, index));
  const digest = createHash('sha256');
  for (const piece of pieces) digest.update(piece);
  return { body: Readable.from(pieces), digest: digest.digest('hex') };
}

/** A body that sends this many megabytes, then waits until it is destroyed. */
function stuckAfter(megabytes: number): { body: Readable; waiting: Promise<void> } {
  let reached = (): void => undefined;
  const waiting = new Promise<void>((resolve) => (reached = resolve));
  let sent = 0;
  const body = new Readable({
    read() {
      if (sent++ < megabytes) this.push(Buffer.alloc(MEGABYTE));
      else reached();
    },
  });
  return { body, waiting };
}

interface Suite {
  /** The store under test; a function, because tests start before it exists. */
  readonly store: () => ObjectStore;
  /** Remains of unfinished uploads of a key. */
  readonly leftovers: (key: string) => Promise<string[]>;
  /** Whether concurrent writes of one key can't mix. */
  readonly atomic: boolean;
}

/** The guarantees of every object store. */
export function describeObjectStore({ store, leftovers, atomic }: Suite): void {
  async function expectNothing(key: string): Promise<void> {
    await expect(store().open(key)).rejects.toBeInstanceOf(ObjectNotFound);
    expect(await leftovers(key)).toEqual([]);
  }

  it.each([0, 1, 70_000])('gives back the %d bytes that were put', async (length) => {
    const key = freshKey();
    const bytes = Buffer.alloc(length, 'ab');
    expect(await store().put(key, Readable.from([bytes], { objectMode: false }), PNG)).toEqual({ bytes: length });
    const found = await store().open(key);
    expect(found.bytes).toBe(length);
    expect(bytes.equals(await buffer(found.stream))).toBe(true);
  });

  it('opens the range that is asked for, and says how large the object is when there is none', async () => {
    const key = freshKey();
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, at) => at));
    await store().put(key, Readable.from([bytes], { objectMode: false }), PNG);
    for (const [range, first, last] of [
      [{ first: 0, last: 0 }, 0, 0],
      [{ first: 250, last: 999 }, 250, 255],
      [{ first: 100 }, 100, 255],
      [{ suffix: 6 }, 250, 255],
      [{ suffix: 999 }, 0, 255],
    ] as const) {
      const found = await store().open(key, { range });
      expect([range, found.bytes, found.part]).toEqual([range, last - first + 1, { first, size: 256 }]);
      expect(bytes.subarray(first, last + 1).equals(await buffer(found.stream))).toBe(true);
    }
    await expect(store().open(key, { range: { first: 256 } })).rejects.toMatchObject({
      name: 'RangeNotSatisfiable',
      size: 256,
    });
    await expect(store().open(freshKey(), { range: { first: 0 } })).rejects.toBeInstanceOf(ObjectNotFound);
  });

  it('reads an object or a range of it into rooms of any size, until it ends', async () => {
    const key = freshKey();
    const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, at) => (at * 7) % 251));
    await store().put(key, Readable.from([bytes], { objectMode: false }), PNG);
    for (const [range, expected] of [
      [undefined, bytes],
      [{ first: 70_001, last: 140_000 }, bytes.subarray(70_001, 140_001)],
    ] as const) {
      for (const size of [7_001, 65_536, expected.length, 300_000]) {
        const found = await store().open(key, range && { range });
        const room = Buffer.alloc(size);
        const pieces: Buffer[] = [];
        for (let read = -1; read !== 0;) {
          read = await found.read(room);
          pieces.push(Buffer.from(room.subarray(0, read)));
        }
        expect(pieces.slice(0, -2).every((piece) => piece.length === size)).toBe(true);
        expect(Buffer.concat(pieces).equals(expected)).toBe(true);
        found.stream.destroy();
      }
    }
  });

  it('ends a read into a room when the caller gives up', async () => {
    const key = freshKey();
    await store().put(key, piecesOf(6).body, PNG);
    const giveUp = new AbortController();
    const { read } = await store().open(key, { signal: giveUp.signal });
    const room = Buffer.alloc(MEGABYTE);
    expect(await read(room)).toBe(MEGABYTE);
    const reason = new Error('nobody reads on');
    giveUp.abort(reason);
    await expect(read(room)).rejects.toBe(reason);
  });

  it('takes a stream of 20 MB whose length nobody knows', async () => {
    const key = freshKey();
    const { body, digest } = piecesOf(20);
    expect(await store().put(key, body, PNG)).toEqual({ bytes: 20 * MEGABYTE });
    const { stream } = await store().open(key);
    expect(
      createHash('sha256')
        .update(await buffer(stream))
        .digest('hex'),
    ).toBe(digest);
    expect(await leftovers(key)).toEqual([]);
  });

  it.each([1, 12])('leaves nothing behind when %d MB came and the caller gave up', async (megabytes) => {
    const key = freshKey();
    const { body, waiting } = stuckAfter(megabytes);
    const giveUp = new AbortController();
    const reason = new Error('the client went away');
    const put = store().put(key, body, { ...PNG, signal: giveUp.signal });
    void waiting.then(() => giveUp.abort(reason));
    await expect(put).rejects.toBe(reason);
    expect(body.destroyed).toBe(true);
    await expectNothing(key);
  });

  it('does not start when the caller gave up before', async () => {
    const key = freshKey();
    const body = Readable.from([Buffer.from('late')]);
    const reason = new Error('too late');
    await expect(store().put(key, body, { ...PNG, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await expect(store().open(key, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await expectNothing(key);
  });

  it.each([1, 12])('throws what a stream throws after %d MB, and keeps nothing of it', async (megabytes) => {
    const key = freshKey();
    const { body, waiting } = stuckAfter(megabytes);
    const problem = new Error('the upload is malformed');
    void waiting.then(() => body.destroy(problem));
    await expect(store().put(key, body, PNG)).rejects.toBe(problem);
    await expectNothing(key);
  });

  it('does not take a stream that was cut off for a whole one', async () => {
    const key = freshKey();
    const { body, waiting } = stuckAfter(1);
    void waiting.then(() => body.destroy());
    await expect(store().put(key, body, PNG)).rejects.toThrow('Premature close');
    await expectNothing(key);
  });

  it('survives a stream that failed before it was handed over', async () => {
    const body = new Readable({ read: () => undefined });
    body.destroy(new Error('failed early'));
    await expect(store().put(freshKey(), body, PNG)).rejects.toThrow('failed early');
  });

  it('replaces an object, and readers of the old one are not disturbed', async () => {
    const key = freshKey();
    await store().put(key, Readable.from([Buffer.from('old')]), PNG);
    const old = await store().open(key);
    await store().put(key, Readable.from([Buffer.from('new one')]), PNG);
    expect(String(await buffer((await store().open(key)).stream))).toBe('new one');
    expect(String(await buffer(old.stream))).toBe('old');
  });

  if (atomic)
    it('keeps one whole object when many writers use the same key', async () => {
      const key = freshKey();
      const bodies = Array.from({ length: 8 }, (_, index) => Buffer.alloc(200_000, index));
      await Promise.all(bodies.map(async (body) => await store().put(key, Readable.from([body]), PNG)));
      const winner = await buffer((await store().open(key)).stream);
      expect(bodies.some((body) => body.equals(winner))).toBe(true);
    });

  it('says so when there is no such object', async () => {
    await expect(store().open(freshKey())).rejects.toBeInstanceOf(ObjectNotFound);
  });

  it('ends a read when the caller gives up', async () => {
    const key = freshKey();
    await store().put(key, piecesOf(6).body, PNG);
    const giveUp = new AbortController();
    const { stream } = await store().open(key, { signal: giveUp.signal });
    const reason = new Error('nobody reads on');
    stream.once('data', () => giveUp.abort(reason));
    await expect(buffer(stream)).rejects.toBe(reason);
  });

  it('deletes, and deleting again is no error', async () => {
    const key = freshKey();
    await store().put(key, Readable.from([Buffer.from('x')]), PNG);
    await store().delete(key);
    await store().delete(key);
    await expectNothing(key);
  });

  it('lists what lies below a prefix and nothing else', async () => {
    const folder = `inputs/${randomUUID()}`;
    const keys = [`${folder}/0`, `${folder}/1`, `${folder}/mask`];
    for (const key of [...keys, `${folder}-other/0`]) await store().put(key, Readable.from([Buffer.from('x')]), PNG);
    expect(await keysBelow(store(), `${folder}/`)).toEqual(keys);
    expect(await keysBelow(store(), folder)).toEqual([`${folder}-other/0`, ...keys].sort());
    expect(await keysBelow(store(), `inputs/${randomUUID()}/`)).toEqual([]);
  });

  it.each([
    '',
    'x',
    '/etc/passwd',
    '../x/y',
    'inputs/../../x',
    'inputs/..',
    'inputs//x',
    'inputs/a\0',
    '.unfinished/x',
    'inputs/a b',
  ])('refuses the key %j', async (key) => {
    const refusal = 'not an object key';
    const body = Readable.from([Buffer.from('x')]);
    await expect(Promise.resolve().then(() => store().put(key, body, PNG))).rejects.toThrow(refusal);
    await expect(Promise.resolve().then(() => store().open(key))).rejects.toThrow(refusal);
    await expect(Promise.resolve().then(() => store().delete(key))).rejects.toThrow(refusal);
  });

  it('passes its own check and leaves no trace of it', async () => {
    await store().check();
    expect(await keysBelow(store(), 'checks/')).toEqual([]);
  });
}

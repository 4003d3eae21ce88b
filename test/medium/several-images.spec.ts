import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import sharp from 'sharp';
import type { ImageProvider } from '#providers/image-provider.js';
import { DiskStore } from '#storage/disk-store.js';
import { resultKey } from '#storage/object-key.js';
import { StorageError, type ObjectStore } from '#storage/object-store.js';
import { ExpireTasks } from '#tasks/retention/expire-tasks.js';
import { TaskObjects } from '#tasks/retention/task-objects.js';
import type { Lease, TaskImage, TaskOptions, TaskSummary } from '#tasks/row/task.js';
import { UploadRepository } from '#uploads/upload.repository.js';
import { ProviderRegistry } from '../../apps/worker/src/providers/provider-registry.js';
import { CollectOrphans } from '#uploads/collect-orphans.js';
import { allTasksOf } from '#tasks/row/task.js';
import { plainImage } from '../support/image-provider-suite.js';
import { imageOf, imageWorker, vendor } from '../support/image-worker.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;
const DAY_MS = 24 * 3_600_000;
const COLORS = ['#800000', '#008000', '#000080', '#808000'];
const COST = { reserved: 90_000, currency: 'USD', n: 3 };

describe('a task of several images', () => {
  let room: TaskRoom;
  let folder: string;
  let store: DiskStore;
  let files: Buffer[];
  beforeAll(async () => {
    files = await Promise.all(COLORS.map((color) => plainImage(1024, 1024, color)));
  });
  beforeEach(async () => {
    room = await openTaskRoom();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-several-'));
    store = new DiskStore(folder);
  });
  afterEach(async () => {
    await room.close();
    await rm(folder, { recursive: true, force: true });
  });

  function worker(provider: ImageProvider, objects: ObjectStore = store) {
    const registry = ProviderRegistry.of(new Map([['gpt-image-2', provider]]));
    return imageWorker(room, { store: objects, registry });
  }

  async function accepted(options: Partial<TaskOptions> = {}): Promise<string> {
    const wanted = command({ cost: COST });
    const order = { ...wanted, options: { ...wanted.options, n: 3, ...options } };
    return (await room.inserts.insert(order, DEADLINE_MS)).id;
  }

  async function read(id: string): Promise<TaskSummary> {
    const task = await room.store.find(allTasksOf(TEST_ACCOUNT), id);
    if (task === undefined) throw new Error('no such task');
    return task;
  }

  async function stored(): Promise<string[]> {
    const keys: string[] = [];
    for await (const key of store.list('results/')) keys.push(key);
    return keys.sort();
  }

  /** Red, green and blue of an image's first pixel, in hex. */
  async function colorOf({ key }: TaskImage): Promise<string> {
    const pixels = await sharp(await buffer((await store.open(key)).stream))
      .removeAlpha()
      .raw()
      .toBuffer();
    return `#${pixels.subarray(0, 3).toString('hex')}`;
  }

  const keysOf = (id: string, attempt: number, images: number): string[] =>
    Array.from({ length: images }, (_, index) => resultKey(id, attempt, 'png', index));

  /** The disk, except that something happens before a put. */
  function storeThat(before: (key: string) => Promise<void>): ObjectStore {
    return {
      put: async (key, body, options) => {
        await before(key);
        return store.put(key, body, options);
      },
      open: (key) => store.open(key),
      delete: (key) => store.delete(key),
      list: (prefix) => store.list(prefix),
      check: () => store.check(),
    };
  }

  /** A worker that called a provider and stored two images died before it could write them down. */
  async function crashed(id: string, jobId?: string): Promise<Lease> {
    const claim = await room.transitions.claim(id, 'lost-worker', 1);
    const lease = { id, attempt: claim?.attempt ?? 0 };
    await room.transitions.startProvider(lease, { provider: 'paid', key: '', model: 'gpt-image-2', free: false }, 3);
    if (jobId !== undefined) await room.transitions.acceptedByProvider(lease, jobId);
    for (const key of keysOf(id, 1, 2)) await store.put(key, Readable.from([files[0]]), { contentType: 'image/png' });
    await room.sql(`UPDATE tasks SET lease_until = now() - interval '1 second' WHERE id = $1`, [id]);
    return lease;
  }

  it('has an object for each, in the order in which they came, of one call', async () => {
    const calls: number[] = [];
    const paid = vendor((_context, { n }) => {
      calls.push(n);
      return Promise.resolve(imageOf(...files));
    });
    const id = await accepted();
    await worker(paid).run(id);
    const { status, images, cost } = await read(id);
    expect([status, cost?.settled, calls]).toEqual(['completed', 90_000, [3]]);
    expect(images?.map(({ key }) => key)).toEqual(keysOf(id, 1, 3));
    expect(await Promise.all((images ?? []).map(colorOf))).toEqual(COLORS.slice(0, 3));
    for (const { key, bytes, sha256 } of images ?? []) {
      expect((await store.open(key)).bytes).toBe(bytes);
      expect(sha256).toMatch(/^[0-9a-f]{64}$/);
    }
    expect(await stored()).toEqual(keysOf(id, 1, 3).sort());
  });

  it('has them finished and stored one after the other', async () => {
    const waiting = new Set<string>();
    const most: number[] = [];
    const slow = storeThat(async (key) => {
      waiting.add(key);
      most.push(waiting.size);
      await new Promise((resolve) => setImmediate(resolve));
      waiting.delete(key);
    });
    await worker(
      vendor(() => Promise.resolve(imageOf(...files))),
      slow,
    ).run(await accepted());
    expect(new Set(most)).toEqual(new Set([1]));
  });

  it('is completed with those that came, and costs those', async () => {
    const id = await accepted();
    await worker(vendor(() => Promise.resolve(imageOf(...files.slice(0, 2))))).run(id);
    const { status, images, cost } = await read(id);
    expect([status, images?.length, cost?.settled]).toEqual(['completed', 2, 60_000]);
    expect(images?.[0]?.warnings).toEqual(['The provider returned only 2 of 3 images.']);
  });

  it('is asked for again by the name of its job after a crash between store and row, and not bought again', async () => {
    const id = await accepted();
    await crashed(id, 'vendor-job-1');
    const asked: unknown[] = [];
    const paid = vendor(({ resumeJobId }, { n }) => {
      asked.push(resumeJobId, n);
      return Promise.resolve(imageOf(...files.slice(0, 3)));
    });
    await worker(paid).run(id);
    const { status, images, cost } = await read(id);
    expect([status, cost?.settled, asked]).toEqual(['completed', 90_000, ['vendor-job-1', 3]]);
    expect(images?.map(({ key }) => key)).toEqual(keysOf(id, 2, 3));
    const { rows } = await room.sql('SELECT provider_starts FROM tasks WHERE id = $1', [id]);
    expect(rows).toEqual([{ provider_starts: 1 }]);
    const objects = new TaskObjects(room.database);
    const uploads = new UploadRepository(room.database);
    await new CollectOrphans(store, objects, uploads, room.logger).run(Date.now() + DAY_MS);
    expect(await stored()).toEqual(keysOf(id, 2, 3).sort());
  });

  it('is not bought again after such a crash where nobody can be asked, and costs nothing', async () => {
    const id = await accepted();
    await crashed(id);
    await worker(vendor(() => Promise.reject(new Error('must not be called')))).run(id);
    expect(await read(id)).toMatchObject({ status: 'failed', error: { code: 'interrupted' }, cost: { settled: 0 } });
  });

  it('leaves nothing behind when it has ended in another way meanwhile', async () => {
    const id = await accepted();
    const late = vendor(async () => {
      await room.store.cancel(allTasksOf(TEST_ACCOUNT), id);
      return imageOf(...files);
    });
    await worker(late).run(id);
    expect(await read(id)).toMatchObject({ status: 'cancelled', images: null });
    expect(await stored()).toEqual([]);
  });

  it('fails, and leaves nothing behind, when one of them can’t be stored', async () => {
    const id = await accepted();
    let bought = 0;
    const paid = vendor(() => {
      bought += 1;
      return Promise.resolve(imageOf(...files));
    });
    const full = storeThat((key) =>
      key === resultKey(id, 1, 'png', 1) ? Promise.reject(new StorageError('full')) : Promise.resolve(),
    );
    await worker(paid, full).run(id);
    expect(await read(id)).toMatchObject({ status: 'failed', error: { code: 'storage_error' }, cost: { settled: 0 } });
    expect([bought, await stored()]).toEqual([1, []]);
  });

  it('has all of them deleted when their time is over', async () => {
    const id = await accepted();
    await worker(vendor(() => Promise.resolve(imageOf(...files)))).run(id);
    expect(await stored()).toHaveLength(3);
    await room.sql(`UPDATE tasks SET finished_at = now() - interval '73 hours' WHERE id = $1`, [id]);
    const kept = { imageRetentionHours: 72, taskRetentionHours: 168 };
    await new ExpireTasks(room.database, store, room.logger).run(kept);
    expect(await stored()).toEqual([]);
  });
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import sharp from 'sharp';
import { loadConfig } from '#config/load-config.js';
import { waitUntil } from '#embedded/wait-until.js';
import { gradientImage } from '#images/sample-images.fixture.js';
import { DiskStore } from '#storage/disk-store.js';
import { StorageError, type ObjectStore } from '#storage/object-store.js';
import { StorageConfig } from '#storage/storage.config.js';
import { ExpireTasks } from '#tasks/retention/expire-tasks.js';
import { TaskObjects } from '#tasks/retention/task-objects.js';
import { TaskThumbnails } from '#tasks/states/task-thumbnails.js';
import { Metrics } from '#telemetry/metrics.js';
import { CollectOrphans } from '#uploads/collect-orphans.js';
import { UploadRepository } from '#uploads/upload.repository.js';
import { CreateThumbnail } from '../../apps/worker/src/images/create-thumbnail.js';
import { TaskMemory } from '../../apps/worker/src/images/task-memory.js';
import { ProviderRegistry } from '../../apps/worker/src/providers/provider-registry.js';
import { WorkerConfig } from '../../apps/worker/src/worker.config.js';
import { imageWorker, imageOf, vendor } from '../support/image-worker.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;
const DAY_MS = 24 * 3_600_000;

const idle = new AbortController().signal;

describe('thumbnails', () => {
  let room: TaskRoom;
  let folder: string;
  let store: DiskStore;
  beforeEach(async () => {
    room = await openTaskRoom();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-thumbnails-'));
    store = new DiskStore(folder);
  });
  afterEach(async () => {
    await room.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** A completed task with this image. */
  async function completed(image: Buffer): Promise<string> {
    const options = { ...command().options, pixels: null };
    const { id } = await room.inserts.insert(command({ options }), DEADLINE_MS);
    const registry = ProviderRegistry.of(new Map([['gpt-image-2', vendor(() => Promise.resolve(imageOf(image)))]]));
    await imageWorker(room, { store, registry }).run(id);
    expect(await row(id)).toEqual({ status: 'completed', thumbnail: false });
    return id;
  }

  async function withThumbnail(): Promise<string> {
    const id = await completed(await gradientImage(640, 640, 'png'));
    await creator().run(id, idle);
    expect(await row(id)).toEqual({ status: 'completed', thumbnail: true });
    return id;
  }

  interface Parts {
    readonly objects?: ObjectStore;
    readonly memory?: TaskMemory;
    /** THUMBNAILS */
    readonly enabled?: boolean;
  }

  function creator({ objects = store, memory = newMemory(), enabled = true }: Parts = {}): CreateThumbnail {
    const [config] = loadConfig([StorageConfig], { THUMBNAILS: String(enabled) });
    const rows = new TaskThumbnails(room.database);
    return new CreateThumbnail(rows, objects, memory, room.events, config, room.logger);
  }

  function newMemory(bytes = 805_306_368): TaskMemory {
    const [config] = loadConfig([WorkerConfig], { IMAGE_MEMORY: String(bytes) });
    return new TaskMemory(config, room.queue, new Metrics());
  }

  async function row(id: string): Promise<unknown> {
    const { rows } = await room.sql('SELECT status, has_thumbnail AS thumbnail FROM tasks WHERE id = $1', [id]);
    return rows[0];
  }

  async function thumbnailOf(id: string): Promise<Buffer> {
    return buffer((await store.open(`results/${id}-1.thumb.webp`)).stream);
  }

  /** The disk, except that something happens instead of, or before, a put or an open. */
  function storeThat(changes: Partial<Pick<ObjectStore, 'put' | 'open'>>): ObjectStore {
    return {
      put: (...parts) => store.put(...parts),
      open: (...parts) => store.open(...parts),
      delete: (key) => store.delete(key),
      list: (prefix) => store.list(prefix),
      check: () => store.check(),
      ...changes,
    };
  }

  async function stored(): Promise<string[]> {
    const keys: string[] = [];
    for await (const key of store.list('results/')) keys.push(key);
    return keys.sort();
  }

  const expire = (): Promise<void> =>
    new ExpireTasks(room.database, store, room.logger).run({ imageRetentionHours: 72, taskRetentionHours: 168 });

  it('lie beside the image, small, and as transparent as it is', async () => {
    const id = await completed(await gradientImage(1536, 864, 'png', 4));
    expect(await stored()).toEqual([`results/${id}-1.png`]);
    await creator().run(id, idle);
    expect(await row(id)).toEqual({ status: 'completed', thumbnail: true });
    expect(await stored()).toEqual([`results/${id}-1.png`, `results/${id}-1.thumb.webp`]);
    const bytes = await thumbnailOf(id);
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: 320, height: 180, hasAlpha: true });
    const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
    expect([data[3], data[(info.width - 1) * 4 + 3]]).toEqual([0, 255]);
  });

  it('are created once, and not at all when they are disabled or the image is as small', async () => {
    const none = storeThat({ open: () => Promise.reject(new Error('must not be opened')) });
    await creator({ objects: none }).run(await withThumbnail(), idle);
    const id = await completed(await gradientImage(640, 640, 'png'));
    await creator({ objects: none, enabled: false }).run(id, idle);
    expect(await row(id)).toEqual({ status: 'completed', thumbnail: false });
    const small = await completed(await gradientImage(320, 200, 'png'));
    await creator({ objects: none }).run(small, idle);
    expect(await row(small)).toEqual({ status: 'completed', thumbnail: false });
    const { id: pending } = await room.inserts.insert(command(), DEADLINE_MS);
    for (const other of [pending, 'task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A']) await creator({ objects: none }).run(other, idle);
    expect(await row(pending)).toEqual({ status: 'pending', thumbnail: false });
  });

  it('wait for the next look when the store fails, and leave nothing behind', async () => {
    const id = await completed(await gradientImage(640, 640, 'png'));
    const full = storeThat({ put: () => Promise.reject(new StorageError('full')) });
    const away = storeThat({ open: () => Promise.reject(new StorageError('away')) });
    for (const objects of [full, away]) await creator({ objects }).run(id, idle);
    expect(await row(id)).toEqual({ status: 'completed', thumbnail: false });
    expect(await stored()).toEqual([`results/${id}-1.png`]);
    await creator().run(id, idle);
    expect(await row(id)).toEqual({ status: 'completed', thumbnail: true });
  });

  it('end at once when their worker stops', async () => {
    const id = await completed(await gradientImage(640, 640, 'png'));
    const stop = new AbortController();
    const hanging = storeThat({
      put: (_key, _body, { signal }) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason as Error));
          stop.abort(new Error('stopping'));
        }),
    });
    await creator({ objects: hanging }).run(id, stop.signal);
    expect(await row(id)).toEqual({ status: 'completed', thumbnail: false });
  });

  it('are refused for an image that is damaged, which is not remembered of one that is missing', async () => {
    const id = await completed(await gradientImage(640, 640, 'png'));
    const whole = await buffer((await store.open(`results/${id}-1.png`)).stream);
    const cut = Buffer.concat([whole.subarray(0, whole.length / 2), Buffer.alloc(whole.length / 2)]);
    await store.put(`results/${id}-1.png`, Readable.from([cut]), { contentType: 'image/png' });
    await expect(creator().run(id, idle)).rejects.toMatchObject({ name: 'ImageError' });
    expect(await stored()).toEqual([`results/${id}-1.png`]);
    await store.delete(`results/${id}-1.png`);
    await creator().run(id, idle);
    expect(await row(id)).toEqual({ status: 'completed', thumbnail: false });
    expect(await stored()).toEqual([]);
  });

  it('take no memory that tasks need, and give theirs back', async () => {
    const id = await completed(await gradientImage(640, 640, 'png'));
    const { bytes } = await store.open(`results/${id}-1.png`);
    const memory = newMemory();
    // As if tasks of the account held all but a little of its half.
    const taken = memory.bytes.most - bytes;
    memory.bytes.add(taken, TEST_ACCOUNT);
    await creator({ memory }).run(id, idle);
    expect(await row(id)).toEqual({ status: 'completed', thumbnail: false });
    memory.bytes.release(taken, TEST_ACCOUNT);
    const held: number[] = [];
    const watched = storeThat({
      open: (...parts) => {
        held.push(memory.bytes.held);
        return store.open(...parts);
      },
    });
    await creator({ memory, objects: watched }).run(id, idle);
    expect(await row(id)).toEqual({ status: 'completed', thumbnail: true });
    expect([held.length, (held[0] ?? 0) >= bytes, memory.bytes.held]).toEqual([1, true, 0]);
  });

  it('are told of when they are recorded, and when there will be none', async () => {
    const told: string[] = [];
    room.listener.onThumbnail((id) => void room.sql('SELECT 1').then(() => told.push(id)));
    const subscribed = async (): Promise<boolean> => {
      room.events.publishThumbnail('probe');
      return Promise.resolve(told.includes('probe'));
    };
    expect(await waitUntil(subscribed, { timeoutMs: 20_000 })).toBe(true);
    const id = await withThumbnail();
    const full = storeThat({ put: () => Promise.reject(new StorageError('full')) });
    const other = await completed(await gradientImage(640, 640, 'png'));
    await creator({ objects: full }).run(other, idle);
    expect(await waitUntil(() => told.includes(id) && told.includes(other), { timeoutMs: 20_000 })).toBe(true);
  });

  it('do not outlive objects that were deleted while they were created', async () => {
    const id = await completed(await gradientImage(640, 640, 'png'));
    const late = storeThat({
      put: async (...parts) => {
        await room.sql(`UPDATE tasks SET finished_at = now() - interval '80 hours' WHERE id = $1`, [id]);
        await expire();
        return await store.put(...parts);
      },
    });
    await creator({ objects: late }).run(id, idle);
    expect(await stored()).toEqual([]);
    expect(await row(id)).toEqual({ status: 'completed', thumbnail: false });
  });

  it('are removed with their image, recorded or not', async () => {
    const ids = [await withThumbnail(), await withThumbnail()];
    expect(await stored()).toHaveLength(4);
    await room.sql(`UPDATE tasks SET finished_at = now() - interval '80 hours', has_thumbnail = id = $1`, [ids[0]]);
    await expire();
    expect(await stored()).toEqual([]);
  });

  it('are collected as orphans once their objects were deleted or the task is gone, but not beside their image', async () => {
    const recorded = await withThumbnail();
    const unrecorded = await withThumbnail();
    const deleted = await withThumbnail();
    // As while a thumbnail of an old image is created: it is stored first.
    await room.sql('UPDATE tasks SET has_thumbnail = false WHERE id = $1', [unrecorded]);
    await room.sql('UPDATE tasks SET objects_deleted_at = now() WHERE id = $1', [deleted]);
    await store.delete(`results/${deleted}-1.png`);
    await store.put('results/task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A-1.thumb.webp', Readable.from(['x']), {
      contentType: 'image/webp',
    });
    const orphans = new CollectOrphans(
      store,
      new TaskObjects(room.database),
      new UploadRepository(room.database),
      room.logger,
    );
    expect(await orphans.run(Date.now() + 2 * DAY_MS)).toBe(2);
    expect(await stored()).toEqual(
      [recorded, unrecorded].flatMap((id) => [`results/${id}-1.png`, `results/${id}-1.thumb.webp`]).sort(),
    );
  });
});

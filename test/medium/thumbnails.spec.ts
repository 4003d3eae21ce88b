import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import sharp from 'sharp';
import { waitUntil } from '#embedded/wait-until.js';
import { gradientImage } from '#images/sample-images.fixture.js';
import { ProviderRegistry } from '../../apps/worker/src/providers/provider-registry.js';
import { DiskStore } from '#storage/disk-store.js';
import { StorageError, type ObjectStore } from '#storage/object-store.js';
import { ExpireTasks } from '#tasks/retention/expire-tasks.js';
import { TaskObjects } from '#tasks/retention/task-objects.js';
import type { TaskOptions } from '#tasks/row/task.js';
import { UploadRepository } from '#uploads/upload.repository.js';
import { CollectOrphans } from '#uploads/collect-orphans.js';
import { allTasksOf } from '#tasks/row/task.js';
import { imageWorker, imageOf, vendor } from '../support/image-worker.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;
const DAY_MS = 24 * 3_600_000;

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

  async function accepted(options: Partial<TaskOptions> = {}): Promise<string> {
    const wanted = command();
    return (await room.inserts.insert({ ...wanted, options: { ...wanted.options, ...options } }, DEADLINE_MS)).id;
  }

  /** A worker whose provider has one image; its thumbnails may go to another store. */
  function worker(image: Buffer, thumbnailStore: ObjectStore = store) {
    const paid = vendor(() => Promise.resolve(imageOf(image)));
    const registry = ProviderRegistry.of(new Map([['gpt-image-2', paid]]));
    return imageWorker(room, { store, thumbnailStore, registry });
  }

  async function stored(): Promise<string[]> {
    const keys: string[] = [];
    for await (const key of store.list('results/')) keys.push(key);
    return keys.sort();
  }

  async function row(id: string): Promise<unknown> {
    const { rows } = await room.sql('SELECT status, has_thumbnail AS thumbnail FROM tasks WHERE id = $1', [id]);
    return rows[0];
  }

  /** The disk, except that something happens instead of, or before, a put. */
  function storeThat(put: (...parts: Parameters<ObjectStore['put']>) => Promise<{ bytes: number }>): ObjectStore {
    return {
      put,
      open: (key) => store.open(key),
      delete: (key) => store.delete(key),
      list: (prefix) => store.list(prefix),
      check: () => store.check(),
    };
  }

  const expire = (): Promise<void> =>
    new ExpireTasks(room.database, store, room.logger).run({ imageRetentionHours: 72, taskRetentionHours: 168 });

  it('lie beside the image, small, and as transparent as it is', async () => {
    const id = await accepted({ pixels: { width: 1536, height: 864 } });
    await worker(await gradientImage(1536, 864, 'png', 4)).run(id);
    expect(await row(id)).toEqual({ status: 'completed', thumbnail: true });
    expect(await stored()).toEqual([`results/${id}-1.png`, `results/${id}-1.thumb.webp`]);
    const bytes = await buffer((await store.open(`results/${id}-1.thumb.webp`)).stream);
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: 320, height: 180, hasAlpha: true });
    const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
    expect([data[3], data[(info.width - 1) * 4 + 3]]).toEqual([0, 255]);
  });

  it('are told of by the statement that completes the task', async () => {
    await room.sql(`
      CREATE TABLE told (id text, status text);
      CREATE FUNCTION note_thumbnail() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO told VALUES (NEW.id, OLD.status || ' ' || NEW.status); RETURN NULL; END $$;
      CREATE TRIGGER thumbnail_noted AFTER UPDATE ON tasks FOR EACH ROW
        WHEN (NEW.has_thumbnail AND NOT OLD.has_thumbnail) EXECUTE FUNCTION note_thumbnail();`);
    const id = await accepted();
    // A store that takes a while for an image, which is so much larger.
    const slow: ObjectStore = { ...storeThat((...put) => store.put(...put)) };
    slow.put = async (key, body, options) => {
      const thumbnailIsThere = async () => (await stored()).some((name) => name.endsWith('.thumb.webp'));
      expect(await waitUntil(thumbnailIsThere, { timeoutMs: 10_000 })).toBe(true);
      return await store.put(key, body, options);
    };
    const paid = vendor(async () => imageOf(await gradientImage(1024, 1024, 'png')));
    const registry = ProviderRegistry.of(new Map([['gpt-image-2', paid]]));
    await imageWorker(room, { store: slow, thumbnailStore: store, registry }).run(id);
    expect((await room.sql('SELECT * FROM told')).rows).toEqual([{ id, status: 'pending completed' }]);
  });

  it('are not made of an image that is as small itself', async () => {
    const id = await accepted({ pixels: null });
    await worker(await gradientImage(320, 200, 'png')).run(id);
    expect(await row(id)).toEqual({ status: 'completed', thumbnail: false });
    expect(await stored()).toEqual([`results/${id}-1.png`]);
  });

  it('cost the task nothing when the store does not take them', async () => {
    const id = await accepted();
    const full = storeThat(() => Promise.reject(new StorageError('full')));
    await worker(await gradientImage(1024, 1024, 'png'), full).run(id);
    expect(await row(id)).toEqual({ status: 'completed', thumbnail: false });
    expect(await stored()).toEqual([`results/${id}-1.png`]);
  });

  it('are waited for by nobody, and a worker that goes meanwhile leaves a whole task', async () => {
    const id = await accepted();
    let asked = false;
    const hanging = storeThat((_key, _body, { signal }) => {
      asked = true;
      return new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error));
      });
    });
    const stopping = worker(await gradientImage(1024, 1024, 'png'), hanging);
    const run = stopping.run(id);
    expect(await waitUntil(() => Promise.resolve(asked), { timeoutMs: 10_000 })).toBe(true);
    const hasEnded = async () => (await room.store.find(allTasksOf(TEST_ACCOUNT), id))?.status === 'completed';
    expect(await waitUntil(hasEnded, { timeoutMs: 10_000 })).toBe(true);
    expect(stopping.leases.size).toBe(0);
    stopping.leases.abortAll();
    await run;
    // The job may come back; the task is not run again.
    await worker(await gradientImage(1024, 1024, 'png')).run(id);
    expect(await row(id)).toEqual({ status: 'completed', thumbnail: false });
    expect(await stored()).toEqual([`results/${id}-1.png`]);
  });

  it('do not outlive objects that were deleted while they were made', async () => {
    const id = await accepted();
    const late = storeThat(async (key, ...rest) => {
      const hasEnded = async () => (await room.store.find(allTasksOf(TEST_ACCOUNT), id))?.status === 'completed';
      expect(await waitUntil(hasEnded, { timeoutMs: 10_000 })).toBe(true);
      await room.sql(`UPDATE tasks SET finished_at = now() - interval '80 hours' WHERE id = $1`, [id]);
      await expire();
      return await store.put(key, ...rest);
    });
    await worker(await gradientImage(1024, 1024, 'png'), late).run(id);
    expect(await stored()).toEqual([]);
    expect(await row(id)).toEqual({ status: 'completed', thumbnail: false });
  });

  it('are removed with their image, noted or not', async () => {
    const ids = [await accepted(), await accepted()];
    for (const id of ids) await worker(await gradientImage(1024, 1024, 'png')).run(id);
    expect(await stored()).toHaveLength(4);
    await room.sql(`UPDATE tasks SET finished_at = now() - interval '80 hours', has_thumbnail = id = $1`, [ids[0]]);
    await expire();
    expect(await stored()).toEqual([]);
  });

  it('are collected as orphans when no row tells of them, or their objects were deleted', async () => {
    const noted = await accepted();
    const unnoted = await accepted();
    const deleted = await accepted();
    for (const id of [noted, unnoted, deleted]) await worker(await gradientImage(1024, 1024, 'png')).run(id);
    await room.sql('UPDATE tasks SET has_thumbnail = false WHERE id = $1', [unnoted]);
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
    expect(await orphans.run(Date.now() + 2 * DAY_MS)).toBe(3);
    expect(await stored()).toEqual(
      [`results/${noted}-1.png`, `results/${noted}-1.thumb.webp`, `results/${unnoted}-1.png`].sort(),
    );
  });
});

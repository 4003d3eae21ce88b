import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gradientImage } from '#images/sample-images.fixture.js';
import { ProviderRegistry } from '../../apps/worker/src/providers/provider-registry.js';
import { DiskStore } from '#storage/disk-store.js';
import { ExpireTasks } from '#tasks/retention/expire-tasks.js';
import { TaskObjects } from '#tasks/retention/task-objects.js';
import { UploadRepository } from '#uploads/upload.repository.js';
import { CollectOrphans } from '#uploads/collect-orphans.js';
import { imageWorker, imageOf, vendor } from '../support/image-worker.js';
import { command, openTaskRoom, type TaskRoom } from '../support/task-room.js';

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

  /** A task whose image is stored, and a thumbnail beside it. */
  async function withThumbnail(): Promise<string> {
    const { id } = await room.inserts.insert(command(), DEADLINE_MS);
    const image = await gradientImage(1024, 1024, 'png');
    const registry = ProviderRegistry.of(new Map([['gpt-image-2', vendor(() => Promise.resolve(imageOf(image)))]]));
    await imageWorker(room, { store, registry }).run(id);
    await store.put(`results/${id}-1.thumb.webp`, Readable.from(['x']), { contentType: 'image/webp' });
    return id;
  }

  async function stored(): Promise<string[]> {
    const keys: string[] = [];
    for await (const key of store.list('results/')) keys.push(key);
    return keys.sort();
  }

  const expire = (): Promise<void> =>
    new ExpireTasks(room.database, store, room.logger).run({ imageRetentionHours: 72, taskRetentionHours: 168 });

  it('are removed with their image, noted or not', async () => {
    const ids = [await withThumbnail(), await withThumbnail()];
    expect(await stored()).toHaveLength(4);
    await room.sql(`UPDATE tasks SET finished_at = now() - interval '80 hours', has_thumbnail = id = $1`, [ids[0]]);
    await expire();
    expect(await stored()).toEqual([]);
  });

  it('are collected as orphans when no row tells of them, or their objects were deleted', async () => {
    const noted = await withThumbnail();
    const unnoted = await withThumbnail();
    const deleted = await withThumbnail();
    await room.sql('UPDATE tasks SET has_thumbnail = true WHERE id = $1', [noted]);
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

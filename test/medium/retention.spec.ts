import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { loadConfig } from '#config/load-config.js';
import { DiskStore } from '#storage/disk-store.js';
import { inputKey, resultKey } from '#storage/object-key.js';
import { CollectOrphans } from '../../apps/worker/src/collect-orphans.js';
import { ExpireObjects } from '../../apps/worker/src/expire-objects.js';
import { WorkerConfig } from '../../apps/worker/src/worker.config.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;
const DAY_MS = 24 * 3_600_000;

describe('retention', () => {
  let room: TaskRoom;
  let folder: string;
  let store: DiskStore;
  beforeEach(async () => {
    room = await openTaskRoom();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-retention-'));
    store = new DiskStore(folder);
  });
  afterEach(async () => {
    await room.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** A completed task with one upload and one picture in the store. */
  async function completed(): Promise<{ id: string; input: string; result: string }> {
    const wanted = command();
    const input = inputKey(wanted.id, 0);
    await room.store.insert(
      { ...wanted, inputs: [{ kind: 'object', key: input, bytes: 1, param: 'image' }] },
      DEADLINE_MS,
    );
    const claim = await room.moves.claim(wanted.id, 'worker', 20_000);
    const attempt = claim?.attempt ?? 0;
    const result = resultKey(wanted.id, attempt, 'png');
    for (const key of [input, result]) await put(key);
    const image = { key: result, contentType: 'image/png', width: 1, height: 1, bytes: 1, sha256: '00' };
    await room.moves.complete({ id: wanted.id, attempt }, { images: [image], usage: undefined, warnings: [] });
    return { id: wanted.id, input, result };
  }

  async function put(key: string): Promise<void> {
    await store.put(key, Readable.from(['x']), { contentType: 'image/png' });
  }

  async function stored(): Promise<string[]> {
    const keys: string[] = [];
    for (const prefix of ['inputs/', 'results/']) for await (const key of store.list(prefix)) keys.push(key);
    return keys.sort();
  }

  async function finishedHoursAgo(id: string, hours: number): Promise<void> {
    await room.sql(`UPDATE tasks SET finished_at = now() - $2 * interval '1 hour' WHERE id = $1`, [id, hours]);
  }

  it('removes pictures and uploads first, the task later, and nothing before its time', async () => {
    const [config] = loadConfig([WorkerConfig], {});
    const expire = new ExpireObjects(room.database, store, config, room.logger);
    const [fresh, stale, gone] = [await completed(), await completed(), await completed()];
    await finishedHoursAgo(fresh.id, 71);
    await finishedHoursAgo(stale.id, 73);
    await finishedHoursAgo(gone.id, 169);
    await room.store.insert(command(), DEADLINE_MS);
    await expire.run();
    expect(await stored()).toEqual([fresh.input, fresh.result].sort());
    expect(await room.store.find(TEST_ACCOUNT, stale.id)).toMatchObject({ status: 'completed' });
    expect(await room.store.find(TEST_ACCOUNT, gone.id)).toBeUndefined();
    const { rows } = await room.sql('SELECT id FROM tasks');
    expect(rows).toHaveLength(3);
    await expire.run();
    expect(await stored()).toHaveLength(2);
  });

  it('collects what no row knows, and leaves alone what one does or may yet', async () => {
    const orphans = new CollectOrphans(room.database, store, room.logger);
    const known = await completed();
    const pending = command();
    await room.store.insert(pending, DEADLINE_MS);
    const lost = command().id;
    const kept = [known.input, known.result, inputKey(pending.id, 'mask'), resultKey(pending.id, 1, 'png')];
    for (const key of [...kept.slice(2), inputKey(lost, 0), resultKey(lost, 1, 'png'), resultKey(known.id, 7, 'png')]) {
      await put(key);
    }
    expect(await orphans.run(Date.now())).toBe(0);
    expect(await orphans.run(Date.now() + 2 * DAY_MS)).toBe(3);
    expect(await stored()).toEqual(kept.sort());
  });
});

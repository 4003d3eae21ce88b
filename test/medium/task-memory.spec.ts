import { jest } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { waitUntil } from '#embedded/wait-until.js';
import { exactAvif, gradientImage } from '#images/sample-images.fixture.js';
import { loadConfig } from '#config/load-config.js';
import type { ImageProvider } from '#providers/image-provider.js';
import { DiskStore } from '#storage/disk-store.js';
import type { ObjectStore } from '#storage/object-store.js';
import { inputKey, uploadKey } from '#storage/object-key.js';
import { newUploadId } from '#tasks/row/task-id.js';
import type { TaskInput, TaskCommand } from '#tasks/row/task.js';
import { Metrics } from '#telemetry/metrics.js';
import { ProviderRegistry } from '../../apps/worker/src/providers/provider-registry.js';
import { TaskMemory } from '../../apps/worker/src/images/task-memory.js';
import { WorkerConfig } from '../../apps/worker/src/worker.config.js';
import { allTasksOf } from '#tasks/row/task.js';
import { imageOf, imageWorker, vendor } from '../support/image-worker.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;
const MEGABYTE = 1_000_000;

// Real: Postgres, Redis, a store on disk; the vendor's calls end when the test says so.
describe('the memory of a worker for inputs and results', () => {
  let room: TaskRoom;
  let folder: string;
  let store: DiskStore;
  let png: Buffer;
  beforeAll(async () => {
    room = await openTaskRoom();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-memory-'));
    store = new DiskStore(folder);
    png = await gradientImage(512, 512, 'png');
  });
  afterAll(async () => {
    await room.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** So much memory that one account may have 40 MB of inputs, which are counted twice. */
  function memory(): TaskMemory {
    const [config] = loadConfig([WorkerConfig], { IMAGE_MEMORY: String(168 * MEGABYTE) });
    return new TaskMemory(config, room.queue, new Metrics());
  }

  function worker(provider: ImageProvider, shared: TaskMemory, objects: ObjectStore = store) {
    return imageWorker(room, {
      store: objects,
      registry: ProviderRegistry.of(new Map([['gpt-image-2', provider]])),
      memory: shared,
      leaseMs: '20000',
    });
  }

  /** An edit with an upload of the account that says it has so many bytes. */
  async function edit(bytes: number, accountId = TEST_ACCOUNT, inputs?: readonly TaskInput[]): Promise<string> {
    const key = uploadKey(newUploadId());
    await store.put(key, Readable.from([png]), { contentType: 'image/png' });
    const changes: Partial<TaskCommand> = {
      action: 'edit',
      accountId,
      inputs: inputs ?? [{ kind: 'object', key, bytes, param: 'image' }],
    };
    return (await room.inserts.insert(command(changes), DEADLINE_MS)).id;
  }

  async function newAccount(): Promise<string> {
    const id = `acct_memory_${Math.random().toString(36).slice(2)}`;
    await room.sql('INSERT INTO accounts (id, name) VALUES ($1, $1)', [id]);
    return id;
  }

  async function rowOf(id: string) {
    const { rows } = await room.sql('SELECT status, phase, attempt, waits, epoch FROM tasks WHERE id = $1', [id]);
    return rows[0] as { status: string; phase: string; attempt: number; waits: number; epoch: number };
  }

  /** A vendor whose calls wait until `answer`, and what was held in memory meanwhile. */
  function heldVendor(shared: TaskMemory) {
    const answers: (() => void)[] = [];
    const held: number[] = [];
    const provider = vendor(async () => {
      held.push(shared.bytes.held);
      await new Promise<void>((resolve) => answers.push(resolve));
      return imageOf(png);
    });
    return { provider, answers, held };
  }

  const jobState = async (id: string, epoch: number): Promise<boolean> =>
    (await room.redis.zscore(`${room.prefix}:images:delayed`, `${id}-${epoch}`)) !== null;

  it('H1: an account beyond its share goes back to the queue, another one runs, and released memory wakes it', async () => {
    const shared = memory();
    const { provider, answers, held } = heldVendor(shared);
    const other = await newAccount();
    const first = await edit(35 * MEGABYTE);
    const second = await edit(35 * MEGABYTE);
    const running = worker(provider, shared).run(first);
    expect(await waitUntil(() => answers.length === 1, { timeoutMs: 20_000 })).toBe(true);
    // The row said 35 MB; what is counted once it is loaded is what is there. Another task takes the rest again.
    const blocking = shared.reserve({ ...claimed(TEST_ACCOUNT, 35 * MEGABYTE) }, false);
    await worker(provider, shared).run(second);
    expect(await rowOf(second)).toMatchObject({ status: 'pending', phase: 'queued', attempt: 1, waits: 1 });
    const { epoch } = await rowOf(second);
    expect([answers.length, shared.waitingTasks, await jobState(second, epoch)]).toEqual([1, 1, true]);

    const plain = worker(provider, shared).run(await edit(MEGABYTE, other));
    expect(await waitUntil(() => answers.length === 2, { timeoutMs: 20_000 })).toBe(true);
    blocking.release();
    expect(await waitUntil(async () => !(await jobState(second, epoch)), { timeoutMs: 20_000 })).toBe(true);
    expect(shared.waitingTasks).toBe(0);
    const again = worker(provider, shared).run(second);
    expect(await waitUntil(() => answers.length === 3, { timeoutMs: 20_000 })).toBe(true);
    for (const answer of answers) answer();
    await Promise.all([running, plain, again]);
    expect(await rowOf(second)).toMatchObject({ status: 'completed', attempt: 2 });
    expect([shared.bytes.held, shared.decoded.held]).toEqual([0, 0]);
    for (const bytes of held) expect(bytes).toBeLessThanOrEqual(shared.bytes.limit);
  });

  it('H1: while an account waits for memory, one that holds some gets no more of it', () => {
    const shared = memory();
    const busy = 'acct_busy';
    const waiting = 'acct_waiting';
    const holds = [shared.reserve(claimed(busy, 30 * MEGABYTE), false)];
    expect(() => shared.reserve(claimed(waiting, 38 * MEGABYTE), false)).toThrow('share of memory');
    expect(() => shared.reserve(claimed(busy, MEGABYTE), false)).toThrow('share of memory');
    // One that holds nothing does.
    holds.push(shared.reserve(claimed('acct_third', MEGABYTE), false));
    for (const hold of holds) hold.release();
    expect([shared.waitingTasks, shared.bytes.held]).toEqual([0, 0]);
  });

  it('H1: a task that never fits fails with a clear error and leaves nothing stored', async () => {
    const shared = memory();
    const task = command({ action: 'edit' });
    const key = inputKey(task.id, 0);
    await store.put(key, Readable.from([png]), { contentType: 'image/png' });
    const inputs = [{ kind: 'object', key, bytes: 45 * MEGABYTE, param: 'image' } as const];
    await room.inserts.insert({ ...task, inputs }, DEADLINE_MS);
    await worker(heldVendor(shared).provider, shared).run(task.id);
    expect(await room.store.find(allTasksOf(TEST_ACCOUNT), task.id)).toMatchObject({
      status: 'failed',
      error: { code: 'image_file_too_large', http_status: 400, param: 'image' },
    });
    await expect(store.open(key)).rejects.toMatchObject({ name: 'ObjectNotFound' });
    expect(shared.bytes.held).toBe(0);
  });

  it('H1: sixteen references of one upload are loaded once, and equal bytes elsewhere are in memory once', async () => {
    const shared = memory();
    const opened: string[] = [];
    const counting: ObjectStore = Object.assign(Object.create(store) as DiskStore, {
      open: async (...call: Parameters<DiskStore['open']>) => {
        opened.push(call[0]);
        return store.open(...call);
      },
    });
    const one = uploadKey(newUploadId());
    const equal = uploadKey(newUploadId());
    for (const key of [one, equal]) await store.put(key, Readable.from([png]), { contentType: 'image/png' });
    const inputs = Array.from({ length: 16 }, (_, n): TaskInput => {
      return { kind: 'object', key: n === 15 ? equal : one, bytes: png.length, param: `image[${n}]` };
    });
    const sent: Buffer[] = [];
    const provider = vendor((_context, { images }) => {
      sent.push(...images.map(({ bytes }) => bytes));
      expect(shared.bytes.held).toBeLessThan(3 * MEGABYTE + 4 * png.length);
      return Promise.resolve(imageOf(png));
    });
    const id = await edit(0, TEST_ACCOUNT, inputs);
    await worker(provider, shared, counting).run(id);
    expect(await rowOf(id)).toMatchObject({ status: 'completed' });
    expect([sent.length, new Set(sent).size, opened]).toEqual([16, 1, [one, equal]]);
  });

  it('H1: an image that grows when it is converted is counted as large as it may become', async () => {
    const shared = memory();
    const avif = await exactAvif(2_000, 1_000);
    const grown = 4 * 2_000 * 1_000;
    const key = uploadKey(newUploadId());
    await store.put(key, Readable.from([avif]), { contentType: 'image/avif' });
    const known = {
      kind: 'object',
      key,
      bytes: avif.length,
      param: 'image',
      pixels: 2_000_000,
      convert: 'avif',
    } as const;
    const unknown = { kind: 'object', key, bytes: avif.length, param: 'image' } as const;
    const most: number[] = [];
    // Whoever claims the task takes it, or whoever finds out what the file is.
    for (const input of [known, unknown]) {
      const add = jest.spyOn(shared.bytes, 'add');
      const id = await edit(0, TEST_ACCOUNT, [input]);
      await worker(
        vendor(() => Promise.resolve(imageOf(png))),
        shared,
      ).run(id);
      expect(await rowOf(id)).toMatchObject({ status: 'completed' });
      let held = 0;
      most.push(Math.max(...add.mock.calls.map(([bytes]) => (held += bytes))));
      add.mockRestore();
    }
    for (const bytes of most) expect(bytes).toBeGreaterThanOrEqual(2 * grown);
    expect(shared.bytes.held).toBe(0);
    // Beyond the share of an account, there is no use in waiting.
    const hold = shared.reserve(claimed(TEST_ACCOUNT, MEGABYTE), false);
    expect(() => hold.addInputBytes(49 * MEGABYTE)).toThrow('IMAGE_MEMORY');
    const other = shared.reserve(claimed('acct_other', 30 * MEGABYTE), false);
    expect(() => hold.addInputBytes(38 * MEGABYTE)).toThrow('share of memory');
    other.release();
    hold.release();
  });

  /** A claim of an edit with one input of so many bytes. */
  function claimed(accountId: string, bytes: number): Parameters<TaskMemory['reserve']>[0] {
    const { id, options } = command({ accountId });
    const inputs = [{ kind: 'object', key: uploadKey(id), bytes, param: 'image' } as const];
    return { task: { id, accountId, options }, inputs, mask: null, nextEpoch: 1 } as unknown as Parameters<
      TaskMemory['reserve']
    >[0];
  }
});

import { jest } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import sharp from 'sharp';
import { waitUntil } from '#embedded/wait-until.js';
import { withPngHeight } from '#images/sample-images.fixture.js';
import type { ImageProvider } from '#providers/image-provider.js';
import { ProviderError } from '#providers/provider-error.js';
import { ProviderRegistry } from '../../apps/worker/src/providers/provider-registry.js';
import { SandboxProvider } from '#providers/sandbox/sandbox-provider.js';
import { DiskStore } from '#storage/disk-store.js';
import { inputKey } from '#storage/object-key.js';
import type { TaskCommand, TaskSummary } from '#tasks/row/task.js';
import { allTasksOf } from '#tasks/row/task.js';
import { imageOf, imageWorker, vendor } from '../support/image-worker.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;

describe('running one task', () => {
  let room: TaskRoom;
  let folder: string;
  let store: DiskStore;
  beforeAll(async () => {
    room = await openTaskRoom();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-run-'));
    store = new DiskStore(folder);
  });
  afterAll(async () => {
    await room.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** A worker whose images this provider makes. */
  function worker(provider: ImageProvider = new SandboxProvider()) {
    const registry = ProviderRegistry.of(new Map([['gpt-image-2', provider]]));
    return imageWorker(room, { store, registry, ports: allowedPorts });
  }

  async function accepted(changes: Partial<TaskCommand> = {}): Promise<string> {
    return (await room.inserts.insert(command(changes), DEADLINE_MS)).id;
  }

  async function read(id: string): Promise<TaskSummary> {
    const task = await room.store.find(allTasksOf(TEST_ACCOUNT), id);
    if (task === undefined) throw new Error('no such task');
    return task;
  }

  async function startsOf(id: string): Promise<number> {
    const { rows } = await room.sql('SELECT provider_starts FROM tasks WHERE id = $1', [id]);
    return (rows[0] as { provider_starts: number }).provider_starts;
  }

  async function objects(): Promise<string[]> {
    const keys: string[] = [];
    for await (const key of store.list('results/')) keys.push(key);
    return keys;
  }

  it('delivers exactly the pixels that were ordered, and what the row says is measured', async () => {
    const id = await accepted();
    await worker().run(id);
    const task = await read(id);
    expect(task).toMatchObject({ status: 'completed', phase: 'done', progress: 100, openProvider: null });
    const { rows } = await room.sql('SELECT provider FROM tasks WHERE id = $1', [id]);
    expect(rows).toEqual([{ provider: 'sandbox' }]);
    const [image] = task.images ?? [];
    const bytes = await buffer((await store.open(image?.key ?? '')).stream);
    const { width, height, format } = await sharp(bytes).metadata();
    expect({ width, height, format }).toEqual({ width: 1024, height: 1024, format: 'png' });
    expect(image).toMatchObject({ width: 1024, height: 1024, bytes: bytes.length, contentType: 'image/png' });
    expect(image?.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(task.usage?.total_tokens).toBeGreaterThan(0);
  });

  it('enqueues the webhooks of its task', async () => {
    const id = await accepted({ asynchronous: true, callbackUrl: 'https://hooks.example/' });
    await worker().run(id);
    const [delivery] = await room.deliveryLine.headsOfTasks([id]);
    const job = `${room.prefix}:webhooks:${delivery?.deliveryId}-0`;
    expect(await waitUntil(async () => (await room.redis.exists(job)) === 1, { timeoutMs: 30_000 })).toBe(true);
  });

  it.each([
    ['transparent where it is to be edited, as it came', 'alpha', [0, 0, 0, 0]],
    ['white there, for who wants it so', 'white', [255, 255, 255]],
  ] as const)('uses an uploaded image and its mask: %s', async (_what, maskForm, pixel) => {
    const base = command({ action: 'edit' });
    const photo = await sharp({ create: { width: 128, height: 128, channels: 3, background: '#2060a0' } })
      .png()
      .toBuffer();
    const mask = await sharp({ create: { width: 128, height: 128, channels: 4, background: '#00000000' } })
      .png()
      .toBuffer();
    await store.put(inputKey(base.id, 0), Readable.from([photo]), { contentType: 'image/png' });
    await store.put(inputKey(base.id, 'mask'), Readable.from([mask]), { contentType: 'image/png' });
    const input = { kind: 'object', key: inputKey(base.id, 0), bytes: photo.length, param: 'image' } as const;
    const maskInput = { kind: 'object', key: inputKey(base.id, 'mask'), bytes: mask.length, param: 'mask' } as const;
    await room.inserts.insert({ ...base, inputs: [input], mask: maskInput }, DEADLINE_MS);
    const masks: number[][] = [];
    const paid = vendor(async (_context, { mask: sent }) => {
      const { data, info } = await sharp(sent?.bytes).raw().toBuffer({ resolveWithObject: true });
      masks.push([...data.subarray(0, info.channels)]);
      return { images: [goodPng], warnings: [] };
    });
    await worker({ ...paid, maskForm }).run(base.id);
    expect(await read(base.id)).toMatchObject({ status: 'completed', action: 'edit' });
    expect(masks).toEqual([pixel]);
  });

  it('refuses a mask that only a decoder finds damaged, before the provider is called', async () => {
    const base = command({ action: 'edit' });
    const edge = { width: 128, channels: 4, background: '#00000000' } as const;
    const photo = await sharp({ create: { ...edge, height: 256 } })
      .png()
      .toBuffer();
    const mask = withPngHeight(
      await sharp({ create: { ...edge, height: 128 } })
        .png()
        .toBuffer(),
      256,
    );
    await store.put(inputKey(base.id, 0), [photo], { contentType: 'image/png' });
    await store.put(inputKey(base.id, 'mask'), [mask], { contentType: 'image/png' });
    const input = { kind: 'object', key: inputKey(base.id, 0), bytes: photo.length, param: 'image' } as const;
    const maskInput = { kind: 'object', key: inputKey(base.id, 'mask'), bytes: mask.length, param: 'mask' } as const;
    await room.inserts.insert({ ...base, inputs: [input], mask: maskInput }, DEADLINE_MS);
    let calls = 0;
    const paid = vendor(() => {
      calls += 1;
      return Promise.resolve({ images: [goodPng], warnings: [] });
    });
    await worker({ ...paid, maskForm: 'white' }).run(base.id);
    const error = { code: 'invalid_mask', param: 'mask', http_status: 400 };
    expect(await read(base.id)).toMatchObject({ status: 'failed', error });
    expect(calls).toBe(0);
  });

  it('tells the caller which of its images is unusable', async () => {
    const port = await serve((path) => (path === '/good.png' ? goodPng : Buffer.from('<html>')));
    const id = await accepted({
      inputs: [
        { kind: 'url', url: `http://127.0.0.1:${port}/good.png`, param: 'image_urls[0]' },
        { kind: 'url', url: `http://127.0.0.1:${port}/bad.png`, param: 'image_urls[1]' },
      ],
    });
    await worker().run(id);
    const task = await read(id);
    expect(task).toMatchObject({ status: 'failed', error: { param: 'image_urls[1]', http_status: 400 } });
    expect(await startsOf(id)).toBe(0);
  });

  it('releases a task after a failure that was not charged, and finishes it at the next start', async () => {
    const id = await accepted({ prompt: 'a pear [[fault=http-500 times=1]]' });
    await worker().run(id);
    expect(await read(id)).toMatchObject({ status: 'pending', phase: 'queued' });
    expect(await room.redis.exists(`${room.prefix}:images:${id}-2`)).toBe(1);
    await room.sql(`UPDATE tasks SET next_try_at = now() - interval '1 s' WHERE id = $1`, [id]);
    await worker().run(id);
    expect(await read(id)).toMatchObject({ status: 'completed' });
    expect(await startsOf(id)).toBe(2);
  });

  it('gives up at the cap on starts, with the provider’s error', async () => {
    const id = await accepted({ prompt: 'a pear [[fault=http-500]]' });
    for (let n = 0; n < 5; n++) {
      await worker().run(id);
      await room.sql(`UPDATE tasks SET next_try_at = now() - interval '1 s' WHERE id = $1`, [id]);
    }
    expect(await read(id)).toMatchObject({ status: 'failed', error: { type: 'upstream_error', http_status: 502 } });
    expect(await startsOf(id)).toBe(3);
  });

  it('fails at once when the provider refuses the prompt', async () => {
    const id = await accepted({ prompt: 'x [[fault=moderation]]' });
    await worker().run(id);
    expect(await read(id)).toMatchObject({
      status: 'failed',
      error: { type: 'image_generation_user_error', code: 'moderation_blocked', param: 'prompt', http_status: 400 },
    });
  });

  it('keeps and counts what moderation blocked, by known categories alone', async () => {
    const details = { categories: ['violence', 'a new one', 'another'], moderation_stage: 'output' as const };
    const blocked = new ProviderError('moderation_blocked', 'Blocked.', {
      retryable: false,
      charged: 'no',
      moderation: details,
    });
    const one = worker(vendor(() => Promise.reject(blocked)));
    const id = await accepted();
    await one.run(id);
    expect(await read(id)).toMatchObject({ error: { code: 'moderation_blocked', moderation_details: details } });
    const counted = (await one.metrics.text()).split('\n').filter((line) => line.includes('moderation_blocks_total{'));
    expect(counted.sort()).toEqual([
      'darkroom_moderation_blocks_total{stage="output",category="other"} 1',
      'darkroom_moderation_blocks_total{stage="output",category="violence"} 1',
    ]);
    const other = worker();
    await other.run(await accepted({ prompt: 'x [[fault=moderation]]' }));
    expect(await other.metrics.text()).toContain(
      'darkroom_moderation_blocks_total{stage="unknown",category="unknown"} 1',
    );
  });

  it('does not buy a second time when the outcome of the first call is unknown', async () => {
    const id = await accepted();
    const claim = await room.transitions.claim(id, 'lost-worker', 1);
    await room.transitions.startProvider(
      { id, attempt: claim?.attempt ?? 0 },
      { provider: 'paid', key: '', model: 'gpt-image-2', free: false },
      3,
    );
    await room.sql(`UPDATE tasks SET lease_until = now() - interval '1 second' WHERE id = $1`, [id]);
    let calls = 0;
    const paid = vendor(() => {
      calls += 1;
      return Promise.reject(new Error('must not be called'));
    });
    await worker(paid).run(id);
    expect(calls).toBe(0);
    expect(await read(id)).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
  });

  it('buys a second time where the operator has said so', async () => {
    const id = await accepted();
    const claim = await room.transitions.claim(id, 'lost-worker', 1);
    await room.transitions.startProvider(
      { id, attempt: claim?.attempt ?? 0 },
      { provider: 'paid', key: '', model: 'gpt-image-2', free: false },
      3,
    );
    await room.sql(`UPDATE tasks SET lease_until = now() - interval '1 second' WHERE id = $1`, [id]);
    const paid = vendor(() => Promise.resolve({ images: [goodPng], warnings: [] }));
    await worker({ ...paid, interrupted: 'retry' }).run(id);
    expect(await read(id)).toMatchObject({ status: 'completed' });
    expect(await startsOf(id)).toBe(2);
  });

  it('remembers that a start may have been charged while it waits for the next one', async () => {
    const id = await accepted();
    const unclear = vendor(() =>
      Promise.reject(new ProviderError('upstream_error', 'It broke.', { retryable: true, charged: 'maybe' })),
    );
    await worker({ ...unclear, interrupted: 'retry' }).run(id);
    expect(await read(id)).toMatchObject({ status: 'pending', phase: 'queued', openProvider: 'paid' });
  });

  it('resumes the provider’s own job instead of starting another', async () => {
    const id = await accepted();
    const claim = await room.transitions.claim(id, 'lost-worker', 1);
    const lease = { id, attempt: claim?.attempt ?? 0 };
    await room.transitions.startProvider(lease, { provider: 'paid', key: '', model: 'gpt-image-2', free: false }, 3);
    await room.transitions.acceptedByProvider(lease, 'vendor-job-1');
    await room.sql(`UPDATE tasks SET lease_until = now() - interval '1 second' WHERE id = $1`, [id]);
    const seen: (string | undefined)[] = [];
    const second = vendor((context) => {
      seen.push(context.resumeJobId);
      return Promise.resolve({ images: [goodPng], warnings: [] });
    });
    await worker(second).run(id);
    expect(seen).toEqual(['vendor-job-1']);
    expect(await startsOf(id)).toBe(1);
    expect(await read(id)).toMatchObject({ status: 'completed' });
  });

  it('does not buy again what the store did not take', async () => {
    const id = await accepted();
    const blocked = join(folder, 'results');
    const vendorCalls: string[] = [];
    const paid = vendor(async () => {
      vendorCalls.push('bought');
      // A file where the folder belongs: no put can succeed from now on.
      await rm(blocked, { recursive: true, force: true });
      await writeFile(blocked, '');
      return { images: [goodPng], warnings: [] };
    });
    await worker(paid).run(id);
    await rm(blocked);
    expect(await read(id)).toMatchObject({ status: 'failed', error: { code: 'storage_error', http_status: 500 } });
    await worker(paid).run(id);
    expect(vendorCalls).toEqual(['bought']);
  });

  it('remembers for later attempts that the store may still write what it did not confirm', async () => {
    const id = await accepted();
    const blocked = join(folder, 'results');
    const free = { ...vendor(() => Promise.resolve(imageOf(goodPng))), free: true };
    await rm(blocked, { recursive: true, force: true });
    await writeFile(blocked, '');
    await worker(free).run(id);
    await rm(blocked);
    expect(await read(id)).toMatchObject({ status: 'pending', phase: 'queued' });
    await room.sql('UPDATE tasks SET next_try_at = NULL WHERE id = $1', [id]);
    expect(await room.transitions.claim(id, 'next', 20_000)).toMatchObject({ losses: 0, mayStoreLate: true });
  });

  it('gives up on a task that took three workers with it', async () => {
    const id = await accepted();
    for (let n = 0; n < 3; n++) {
      expect(await room.transitions.claim(id, `lost-worker-${n}`, 20_000)).toMatchObject({ losses: n });
      await room.sql(`UPDATE tasks SET lease_until = now() - interval '1 second' WHERE id = $1`, [id]);
    }
    await worker().run(id);
    expect(await read(id)).toMatchObject({ status: 'failed', error: { code: 'interrupted', http_status: 500 } });
    expect(await startsOf(id)).toBe(0);
  });

  it('stops when the task is taken away, and leaves nothing behind', async () => {
    const before = await objects();
    const id = await accepted();
    const aborted = deferred<unknown>();
    const slow = vendor(async (context) => {
      await room.sql('UPDATE tasks SET attempt = attempt + 1 WHERE id = $1', [id]);
      await new Promise<void>((resolve) => {
        context.signal.addEventListener('abort', () => resolve());
        if (context.signal.aborted) resolve();
      });
      aborted.resolve(context.signal.reason);
      throw context.signal.reason as Error;
    });
    await worker(slow).run(id);
    expect(await aborted.promise).toMatchObject({ name: 'LeaseLost' });
    expect(await read(id)).toMatchObject({ status: 'pending', error: null });
    expect(await objects()).toEqual(before);
  });

  it('discards an image that comes after the task has ended, and its object', async () => {
    const before = await objects();
    const id = await accepted();
    const late = vendor(async () => {
      await room.sql(`UPDATE tasks SET status = 'cancelled', phase = 'done', finished_at = now() WHERE id = $1`, [id]);
      return { images: [goodPng], warnings: [] };
    });
    await worker(late).run(id);
    expect(await read(id)).toMatchObject({ status: 'cancelled', images: null });
    expect(await objects()).toEqual(before);
  });

  it('gives a paid call all of its provider’s time when the process stops, and finishes it', async () => {
    const id = await accepted();
    const started = deferred<undefined>();
    const image = deferred<Buffer>();
    const slow = vendor(async () => {
      started.resolve(undefined);
      return imageOf(await image.promise);
    });
    const stopping = worker({ ...slow, longestCallMs: 840_000 });
    const run = stopping.run(id);
    await started.promise;
    // Only the grace is measured by this clock: nothing else begins to wait while it is set.
    jest.useFakeTimers();
    const cancelAbort = stopping.leases.abortAfterGrace();
    jest.advanceTimersByTime(840_000);
    cancelAbort();
    jest.useRealTimers();
    expect(stopping.leases.stopping.aborted).toBe(false);
    image.resolve(goodPng);
    await run;
    expect(await read(id)).toMatchObject({ status: 'completed' });
    expect(await startsOf(id)).toBe(1);
  });

  it('releases what it holds at once when the process stops', async () => {
    const id = await accepted();
    const started = deferred<undefined>();
    const endless = vendor(async (context) => {
      started.resolve(undefined);
      await new Promise<void>((resolve) => {
        context.signal.addEventListener('abort', () => resolve());
      });
      throw context.signal.reason as Error;
    });
    const stopping = worker(endless);
    const run = stopping.run(id);
    await started.promise;
    stopping.leases.abortAll();
    await run;
    expect(await read(id)).toMatchObject({ status: 'pending', phase: 'queued' });
    expect(await room.redis.exists(`${room.prefix}:images:${id}-2`)).toBe(1);
    const next = await room.transitions.claim(id, 'next', 20_000);
    expect(next).toMatchObject({ providerCallOpen: true, providerStarts: 1 });
  });

  const servers: ReturnType<typeof createServer>[] = [];
  const allowedPorts = ['80'];
  let goodPng: Buffer;
  beforeAll(async () => {
    goodPng = await sharp({ create: { width: 1024, height: 1024, channels: 3, background: '#ddccaa' } })
      .png()
      .toBuffer();
  });
  afterAll(async () => {
    for (const server of servers) await new Promise((resolve) => server.close(resolve));
  });

  async function serve(body: (path: string) => Buffer): Promise<number> {
    const server = createServer((request, response) => {
      response.setHeader('connection', 'close');
      response.end(body(request.url ?? ''));
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    allowedPorts.push(String(port));
    return port;
  }
});

function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

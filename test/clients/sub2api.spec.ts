import sharp from 'sharp';
import { waitUntil } from '#embedded/wait-until.js';
import { gradientImage } from '#images/sample-images.fixture.js';
import { newMarker } from '../support/fault-callers.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, startWorker, type TestProcess } from '../support/processes.js';

const GENERATIONS = '/v1/images/generations/async';
const EDITS = '/v1/images/edits/async';

/** What clients of the dialect read: sub2api's `docs/ASYNC_IMAGE_TASKS.md` at 6f0ca22, and rikkahub's OpenAIProvider. */
interface ImageTask {
  readonly id: string;
  readonly task_id: string;
  readonly object: string;
  readonly status: 'processing' | 'completed' | 'failed';
  readonly created_at: number;
  readonly completed_at?: number;
  readonly expires_at: number;
  readonly http_status?: number;
  readonly image_url?: string;
  readonly result?: { readonly created: number; readonly data: readonly { readonly url: string }[] };
  readonly error?: { readonly type: string; readonly code: string | null; readonly message: string };
}

/** Submits, takes the id from the answer, and asks for it below /v1/images/tasks until it has ended. */
describe('a client of sub2api', () => {
  let provider: LedgerProvider;
  let platform: Platform;
  let api: TestProcess;
  let worker: TestProcess;

  beforeAll(async () => {
    provider = await LedgerProvider.start();
    platform = await startPlatform({ OPENAI_API_KEY: 'sk-ledger-secret-key', OPENAI_BASE_URL: provider.url });
    [api, worker] = [platform.api, platform.worker];
  });
  afterAll(async () => {
    await Promise.all([api.stop(), worker.stop()]);
    await platform.close();
    await provider.close();
  });

  async function submit(path: string, body: object): Promise<string> {
    const response = await platform.call(path, { body, at: api });
    expect(response.status).toBe(202);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const receipt = (await response.json()) as ImageTask;
    expect(receipt).toMatchObject({ id: receipt.task_id, object: 'image.generation.task' });
    expect(receipt.expires_at).toBeGreaterThan(receipt.created_at);
    return receipt.task_id;
  }

  const poll = (id: string, key?: string): Promise<Response> =>
    platform.call(`/v1/images/tasks/${id}`, { at: api, ...(key === undefined ? {} : { key }) });

  async function ended(id: string): Promise<ImageTask> {
    let task: ImageTask | undefined;
    const isOver = async (): Promise<boolean> => {
      const response = await poll(id);
      expect(response.headers.get('cache-control')).toBe('no-store');
      task = (await response.json()) as ImageTask;
      expect(response.headers.get('retry-after')).toBe(task.status === 'processing' ? '3' : null);
      return task.status !== 'processing';
    };
    expect(await waitUntil(isOver, { timeoutMs: 60_000 })).toBe(true);
    return task as ImageTask;
  }

  async function sizeOf(url: string | undefined): Promise<string> {
    const { width, height } = await sharp(Buffer.from(await (await fetch(url ?? '')).arrayBuffer())).metadata();
    return `${width}x${height}`;
  }

  it('gets the image of a generation, though API and worker are killed before its first poll', async () => {
    const marker = newMarker();
    // A worker that is killed during a call leaves a charge of which nobody knows: this one is not to begin it.
    worker.kill('SIGSTOP');
    const order = { model: 'gpt-image-2', prompt: `a lighthouse ${marker}`, size: '1024x1024' };
    const id = await submit(GENERATIONS, order);
    for (const victim of [api, worker]) victim.kill('SIGKILL');
    await Promise.all([api.exited, worker.exited]);
    [api, worker] = await Promise.all([startApi(platform.settings), startWorker(platform.settings)]);
    const task = await ended(id);
    expect(task).toMatchObject({
      id,
      task_id: id,
      object: 'image.generation.task',
      status: 'completed',
      http_status: 200,
      image_url: task.result?.data[0]?.url,
      result: { created: task.created_at, data: [{ url: expect.any(String) as string }] },
    });
    expect(task.expires_at).toBeGreaterThan(task.completed_at ?? Infinity);
    expect(await sizeOf(task.image_url)).toBe('1024x1024');
    expect(provider.startsOf(marker)).toHaveLength(1);
  });

  it('gets the image of an edit in a form', async () => {
    const form = new FormData();
    form.append('model', 'gpt-image-2');
    form.append('prompt', `a lighthouse at night ${newMarker()}`);
    const png = new Uint8Array(await gradientImage(128, 128, 'png'));
    form.append('image[]', new Blob([png], { type: 'image/png' }), 'house.png');
    const { status, result } = await ended(await submit(EDITS, form));
    expect([status, await sizeOf(result?.data[0]?.url)]).toEqual(['completed', '1024x1024']);
  });

  it('learns why a task failed, or was cancelled', async () => {
    const marker = newMarker();
    provider.plan(marker, { faults: ['moderation'] });
    const failed = await ended(await submit(GENERATIONS, { model: 'gpt-image-2', prompt: `no ${marker}` }));
    expect(failed).toMatchObject({
      status: 'failed',
      http_status: 400,
      error: { type: 'image_generation_user_error', code: 'moderation_blocked', message: expect.any(String) as string },
    });
    expect(failed).not.toHaveProperty('result');
    const late = newMarker();
    provider.plan(late, { latencyMs: 60_000 });
    const id = await submit(GENERATIONS, { model: 'gpt-image-2', prompt: `late ${late}` });
    await platform.call(`/v1/tasks/${id}/cancel`, { method: 'POST', at: api });
    expect(await ended(id)).toMatchObject({ status: 'failed', http_status: 409, error: { code: 'task_cancelled' } });
  });

  it('finds only tasks of its own account, with a key that may read tasks, whose images are still there', async () => {
    const id = await submit(GENERATIONS, { model: 'gpt-image-2', prompt: `mine ${newMarker()}` });
    await ended(id);
    const stranger = await platform.newKey({}, await platform.newAccount());
    for (const [path, key] of [
      [id, stranger],
      [`${id.slice(0, -1)}!`, platform.key],
      ['imgtask_0123456789abcdef', platform.key],
      ['%E0%A4%A', platform.key],
    ] as const) {
      const response = await poll(path, key);
      const { error } = (await response.json()) as { error: { code: string } };
      expect([path, response.status, error.code]).toEqual([path, 404, 'task_not_found']);
    }
    expect((await poll(id, await platform.newKey({ scopes: ['chat'] }))).status).toBe(403);
    await platform.pool.query(`UPDATE tasks SET finished_at = finished_at - interval '30 days' WHERE id = $1`, [id]);
    expect((await poll(id)).status).toBe(404);
  });

  it('counts its polls like any other', async () => {
    const limited = await platform.newKey({ polls_per_minute: 2 });
    const statuses: number[] = [];
    for (let count = 0; count < 3; count++) statuses.push((await poll('task_1', limited)).status);
    expect(statuses).toEqual([404, 404, 429]);
  });
});

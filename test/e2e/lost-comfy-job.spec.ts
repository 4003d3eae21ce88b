import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { ComfyApiProxy } from '../support/comfy-api-proxy.js';
import { FakeComfyUi } from '../support/comfyui-server.js';
import { COMFY_OPTIONS } from '../support/gpu-servers.js';
import { plainImage } from '../support/image-provider-suite.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startWorker, type TestProcess } from '../support/processes.js';

/** The worst moment to lose a worker: its provider has the job, and it does not know which. */
describe('a worker that is killed between its order and the answer to it', () => {
  let comfy: FakeComfyUi;
  let proxy: ComfyApiProxy;
  let platform: Platform;
  let second: TestProcess | undefined;
  let folder: string;
  beforeAll(async () => {
    comfy = await new FakeComfyUi().start();
    comfy.drawing = { endless: true, files: [await plainImage(1024, 1024)] };
    proxy = await new ComfyApiProxy(comfy).start();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-comfy-'));
    const entry = { type: 'comfyui-v2', base_url: proxy.url, options: COMFY_OPTIONS };
    const model = { kind: 'image', routes: [{ provider: 'gpu' }] };
    await writeFile(
      join(folder, 'models.yaml'),
      JSON.stringify({ providers: { gpu: entry }, models: { drawn: model } }),
    );
    platform = await startPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      SWEEP_INTERVAL_MS: '500',
    });
  });
  afterAll(async () => {
    await second?.stop();
    await platform.close();
    await proxy.close();
    await comfy.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('leaves its job to the next worker, which runs nothing twice', async () => {
    // The answer never arrives: the worker is gone before.
    proxy.answers.push(() => () => platform.worker.kill('SIGKILL'));
    const body = { model: 'drawn', prompt: 'a pear', size: '1024x1024' };
    const image = platform.call('/v1/images/generations', { body });
    await platform.worker.exited;
    // Not by a short lease, which the second worker would lose as well when it stalls.
    await platform.pool.query('UPDATE tasks SET lease_until = now()');
    second = await startWorker(platform.settings);
    expect(await waitUntil(() => proxy.sentKeys.length === 2, { timeoutMs: 60_000 })).toBe(true);
    // Before it runs, there is nothing to finish.
    expect(await waitUntil(() => comfy.runningId !== undefined, { timeoutMs: 60_000 })).toBe(true);
    comfy.finish();
    const response = await image;
    expect(response.status).toBe(200);
    const id = response.headers.get('x-task-id') ?? '';
    expect(proxy.sentKeys).toEqual([`${id}-1`, `${id}-1`]);
    expect(comfy.drawn).toHaveLength(1);
    const answer = await platform.call(`/v1/tasks/${id}?include=timeline`);
    const { timeline } = ((await answer.json()) as { data: { timeline: Record<string, unknown>[] } }).data;
    const calls = timeline.filter(({ event }) => event === 'provider_call');
    expect(calls).toMatchObject([{ outcome: 'unknown' }, { outcome: 'succeeded' }]);
    expect(comfy.calls.filter(({ method, path }) => method === 'POST' && path === '/prompt')).toHaveLength(1);
  });
});

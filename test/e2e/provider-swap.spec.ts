import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { waitUntil } from '#embedded/wait-until.js';
import { startLibraryVendor, type LibraryServer } from '../support/ai-sdk-vendors.js';
import { FakeComfyUi } from '../support/comfyui-server.js';
import { plainImage } from '../support/image-provider-suite.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { image, startUpstream, type ScriptedUpstream } from '../support/scripted-upstream.js';
import { startJobVendor, type JobVendor } from '../support/submit-poll-vendor.js';

const KEY = 'sk-swap-0c9a7be21d';
const JOB = 'task_01KA040M0HP1GJWBJYZMKX1XS1';
const node = (type: string, inputs: object) => ({ class_type: type, inputs });
const WORKFLOW = {
  3: node('KSampler', { seed: 1, latent_image: ['5', 0], positive: ['6', 0] }),
  5: node('EmptyLatentImage', { width: 512, height: 512, batch_size: 1 }),
  6: node('CLIPTextEncode', { text: 'a cat' }),
  9: node('SaveImage', { filename_prefix: 'Darkroom', images: ['3', 0] }),
};
const OPTIONS = {
  workflow: WORKFLOW,
  slots: { prompt: '6.text', width: '5.width', height: '5.height', seed: '3.seed' },
};

/** Who can stand behind one model, by the route that says so. */
const ROUTES: Readonly<Record<string, string>> = {
  drawn: '{ provider: drawn }',
  compatible: '{ provider: compatible, model: theirs }',
  jobs: '{ provider: jobs, model: gpt-image-2-official }',
  gpu: '{ provider: gpu }',
  flux: '{ provider: flux, model: fal-ai/flux/dev }',
  gemini: '{ provider: gemini, model: gemini-2.5-flash-image }',
};

interface TaskData {
  readonly status: string;
  readonly timeline: readonly { readonly event: string; readonly provider?: string; readonly outcome?: string }[];
  readonly result?: { readonly images: readonly { readonly url: readonly string[]; readonly size: string }[] };
}

/** One line of models.yaml decides who makes the images of gpt-image-2; every kind of provider is a real server. */
describe('the provider behind a model', () => {
  let platform: Platform;
  let compatible: ScriptedUpstream;
  let jobs: JobVendor;
  let gpu: FakeComfyUi;
  let [flux, gemini]: LibraryServer[] = [];
  let folder: string;
  const calls = (): Record<string, number> => ({
    compatible: compatible.calls.length,
    jobs: jobs.calls.length,
    gpu: gpu.calls.length,
    flux: flux?.calls.length ?? 0,
    gemini: gemini?.calls.length ?? 0,
  });

  const write = (route: string): Promise<void> =>
    writeFile(
      join(folder, 'models.yaml'),
      `providers:
  drawn: { type: sandbox }
  compatible: { type: openai, base_url: "${compatible.url}", keys: [{ env: KEY }] }
  jobs: { type: apimart, base_url: "${jobs.url}", keys: [{ env: KEY }] }
  gpu: { type: comfyui, base_url: "${gpu.url}", options: ${JSON.stringify(OPTIONS)} }
  flux: { type: fal, base_url: "${flux?.url}", keys: [{ env: KEY }] }
  gemini: { type: google, base_url: "${gemini?.url}", keys: [{ env: KEY }] }
models:
  gpt-image-2: { kind: image, routes: [${route}] }
`,
    );

  beforeAll(async () => {
    const png = await plainImage(1024, 1024);
    compatible = await startUpstream();
    compatible.script(image(png));
    jobs = await startJobVendor('apimart', KEY, JOB, png);
    gpu = await new FakeComfyUi().start();
    gpu.drawing = { files: [png] };
    [flux, gemini] = [await startLibraryVendor('fal', KEY, png), await startLibraryVendor('google', KEY, png)];
    folder = await mkdtemp(join(tmpdir(), 'darkroom-swap-'));
    await write(ROUTES['drawn'] ?? '');
    platform = await startPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      SWEEP_INTERVAL_MS: '500',
      KEY,
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      EGRESS_PORTS: [jobs.url, flux.url].map((url) => new URL(url).port).join(),
    });
  });
  afterAll(async () => {
    await platform.close();
    await Promise.all([compatible.close(), jobs.close(), gpu.close(), flux?.close(), gemini?.close()]);
    await rm(folder, { recursive: true, force: true });
  });

  async function make(): Promise<TaskData> {
    const body = { model: 'gpt-image-2', prompt: 'a pear', size: '1:1', resolution: '1k' };
    const response = await platform.call('/v1/images/generations', { body });
    // Read to its end: who breaks off gets the same image again.
    await response.arrayBuffer();
    const task = await platform.call(`/v1/tasks/${response.headers.get('x-task-id')}?include=timeline`);
    return ((await task.json()) as { data: TaskData }).data;
  }

  it.each(Object.keys(ROUTES))('is %s once one line of the file says so, without a restart', async (name) => {
    const processes = [platform.api.pid, platform.worker.pid];
    await write(ROUTES[name] ?? '');
    jobs.plan();
    let task: TaskData | undefined;
    const swapped = async (): Promise<boolean> => {
      task = await make();
      return task.timeline.some(({ event, provider }) => event === 'provider_call' && provider === name);
    };
    expect(await waitUntil(swapped, { timeoutMs: 30_000 })).toBe(true);
    expect(task).toMatchObject({ status: 'completed', result: { images: [{ size: '1024x1024' }] } });
    const file = await fetch(task?.result?.images[0]?.url[0] ?? '');
    const { width, height } = await sharp(Buffer.from(await file.arrayBuffer())).metadata();
    expect([width, height]).toEqual([1024, 1024]);
    expect([platform.api.pid, platform.worker.pid]).toEqual(processes);
    if (name !== 'drawn') expect(calls()[name]).toBeGreaterThan(0);
  });
});

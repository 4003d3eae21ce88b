import type { ServerResponse } from 'node:http';
import { waitUntil } from '#embedded/wait-until.js';
import type { ComfyUiProvider } from '#providers/comfyui/comfyui-provider.js';
import { comfyUiProvider } from '#providers/comfyui/from-entry.js';
import type { ProviderImageRequest } from '#providers/image-provider.js';
import { bytesOf, contextOf, resultOf } from '#providers/sandbox/sandbox-calls.fixture.js';
import { ComfyApiProxy } from '../support/comfy-api-proxy.js';
import { FakeComfyUi } from '../support/comfyui-server.js';
import { COMFY_OPTIONS } from '../support/gpu-servers.js';
import { describeImageProvider, failureOf, orderOf, plainImage } from '../support/image-provider-suite.js';

describe('the ComfyUI adapter, with API v2', () => {
  let comfy: FakeComfyUi;
  let proxy: ComfyApiProxy;
  let png: Buffer;
  beforeAll(async () => {
    png = await plainImage(1536, 864);
  });
  beforeEach(async () => {
    comfy = await new FakeComfyUi().start();
    comfy.drawing = { files: [png] };
    proxy = await new ComfyApiProxy(comfy).start();
  });
  afterEach(async () => {
    await proxy.close();
    await comfy.close();
  });

  const MASKED = {
    ...COMFY_OPTIONS,
    edit_workflow: {
      ...COMFY_OPTIONS.edit_workflow,
      12: { class_type: 'LoadImageMask', inputs: { image: 'example.png', channel: 'alpha' } },
      13: { class_type: 'LoadImage', inputs: { image: 'example.png' } },
    },
    edit_slots: { ...COMFY_OPTIONS.edit_slots, images: ['10.image', '13.image'], mask: '12.image' },
  };
  function provider(free = true, options: Readonly<Record<string, unknown>> = MASKED): ComfyUiProvider {
    const limits = { concurrency: undefined, startsPerMinute: undefined };
    const key = { name: 'k', secret: 'sk-canary' };
    const entry = { name: 'gpu', type: 'comfyui-v2', baseUrl: proxy.url, keys: [key], limits, free, options } as const;
    return comfyUiProvider({ ...entry, interrupted: 'retry' }, key);
  }
  const generate = async (changes: Partial<ProviderImageRequest> = {}, context = contextOf(), free = true) =>
    resultOf(await provider(free).generate(orderOf(changes), context));
  const orders = () => comfy.calls.filter(({ method, path }) => `${method} ${path}` === 'POST /prompt').length;

  describeImageProvider({
    provider: () => provider(),
    behave: (behavior, order) => {
      proxy.refusals = behavior === 'rate-limit' ? 1 : 0;
      const drawings: Partial<Record<typeof behavior, FakeComfyUi['drawing']>> = {
        image: { files: [png] },
        failure: { exception: 'torch.OutOfMemoryError' },
        'no-image': { files: [] },
        hang: { endless: true },
      };
      comfy.drawing = drawings[behavior] ?? {};
      // Each is the first order of a task.
      proxy.forget();
      return Promise.resolve(order);
    },
    begun: async () => {
      await waitUntil(() => comfy.runningId !== undefined, { timeoutMs: 30_000 });
    },
    lacks: ['usage', 'moderation', 'partials'],
  });

  it('finds the job of a worker that was lost, whether it waits, runs or is done, and runs it once', async () => {
    comfy.drawing = { endless: true, files: [png] };
    // The workflow is accepted, and nobody is left to hear the answer.
    proxy.answers.push(() => (response) => void response.destroy());
    expect(await failureOf(generate())).toMatchObject({ code: 'upstream_error', retryable: true });
    const accepted: string[] = [];
    const onAccepted = (jobId: string): Promise<void> => Promise.resolve(void accepted.push(jobId));
    const running = generate({}, contextOf({ onAccepted, startNumber: 2 }));
    await waitUntil(() => accepted.length === 1, { timeoutMs: 30_000 });
    expect(comfy.runningId).toBe(accepted[0]);
    comfy.finish();
    expect(bytesOf(await running).equals(png)).toBe(true);
    expect(bytesOf(await generate({}, contextOf({ onAccepted, startNumber: 3 }))).equals(png)).toBe(true);
    expect(accepted[1]).toBe(accepted[0]);
    expect(orders()).toBe(1);
    expect(proxy.sentKeys).toEqual(['task_1-1', 'task_1-1', 'task_1-1']);
    expect(proxy.calls.every(({ headers }) => headers.authorization === 'Bearer sk-canary')).toBe(true);
  });

  it('does not take a job for lost that ends while the proxy looks for it', async () => {
    comfy.drawing = { endless: true, files: [png] };
    const running = generate({}, contextOf(), false);
    await waitUntil(() => comfy.runningId !== undefined, { timeoutMs: 30_000 });
    const endThenAnswer = (response: ServerResponse): void => {
      comfy.finish();
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"queue_running":[],"queue_pending":[]}');
    };
    comfy.faults.set('GET /queue', [endThenAnswer]);
    expect(bytesOf(await running).equals(png)).toBe(true);
    expect(orders()).toBe(1);
  });

  it('does not order a job again that ends while it is looked for by its key', async () => {
    comfy.drawing = { endless: true, files: [png] };
    proxy.answers.push(() => (response) => void response.destroy());
    await failureOf(generate());
    const endThenAnswer = (response: ServerResponse): void => {
      comfy.finish();
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"queue_running":[],"queue_pending":[]}');
    };
    comfy.faults.set('GET /queue', [endThenAnswer]);
    expect(bytesOf(await generate({}, contextOf({ startNumber: 2 }))).equals(png)).toBe(true);
    expect(orders()).toBe(1);
  });

  it('starts another job with another key when those before have failed', async () => {
    comfy.drawing = { exception: 'RuntimeError' };
    for (const free of [true, false]) {
      const error = await failureOf(generate({}, contextOf({ idempotencyKey: String(free) }), free));
      expect(error).toMatchObject({ code: 'upstream_error', retryable: free, charged: free ? 'no' : 'maybe' });
    }
    comfy.drawing = { files: [png] };
    expect(bytesOf(await generate({}, contextOf({ idempotencyKey: 'true' }))).equals(png)).toBe(true);
    expect(proxy.sentKeys).toEqual(['true-1', 'false-1', 'true-1', 'true-2']);
  });

  it('does not buy a job again of which the server knows the key alone, unless it is free', async () => {
    proxy.forgetsJobs = true;
    proxy.answers.push(() => (response) => void response.destroy());
    await failureOf(generate());
    expect(await failureOf(generate({}, contextOf(), false))).toMatchObject({ charged: 'maybe', retryable: true });
    expect(orders()).toBe(1);
    proxy.forgetsJobs = false;
    expect(bytesOf(await generate()).equals(png)).toBe(true);
    expect(orders()).toBe(2);
  });

  it('uploads again what a server has forgotten', async () => {
    const image = { bytes: png, contentType: 'image/png', width: 1536, height: 864 } as const;
    const order = { action: 'edit', images: [image] } as const;
    proxy.forgetsUploads = true;
    expect(await failureOf(generate(order))).toMatchObject({ retryable: true, charged: 'no' });
    proxy.forgetsUploads = false;
    expect(bytesOf(await generate(order)).equals(png)).toBe(true);
    const [name] = comfy.uploads.keys();
    expect(comfy.lastNodes['10']?.inputs['image']).toBe(name);
  });

  it('cancels the job of a task that is cancelled, also while it is accepted', async () => {
    comfy.drawing = { endless: true };
    const reason = new Error('cancelled');
    for (const isAccepted of [true, false]) {
      const stop = new AbortController();
      if (!isAccepted) proxy.answers.push(() => () => stop.abort(reason));
      const call = generate({}, contextOf({ signal: stop.signal, idempotencyKey: String(isAccepted) }));
      // The second may have ended again by then.
      expect(await waitUntil(() => orders() === (isAccepted ? 1 : 2), { timeoutMs: 30_000 })).toBe(true);
      if (isAccepted) stop.abort(reason);
      await expect(call).rejects.toBe(reason);
      expect(comfy.runningId).toBeUndefined();
    }
    expect(orders()).toBe(2);
  });

  it('says that a job or its image is gone, and what that costs', async () => {
    const named: string[] = [];
    await generate({}, contextOf({ onAccepted: (jobId) => Promise.resolve(void named.push(jobId)) }));
    const [resumeJobId] = named;
    comfy.faults.set('GET /view', [(response) => void response.writeHead(404).end()]);
    const gone = { code: 'upstream_invalid_response', retryable: true, charged: 'maybe' };
    expect(await failureOf(generate({}, contextOf({ resumeJobId }), false))).toMatchObject(gone);
    comfy.forget();
    const lost = { code: 'upstream_error', message: 'The provider no longer has the job.', charged: 'no' };
    expect(await failureOf(generate({}, contextOf({ resumeJobId })))).toMatchObject(lost);
    proxy.forget();
    expect(await failureOf(generate({}, contextOf({ resumeJobId })))).toMatchObject(lost);
  });

  it('says which extra field is at fault, or that the image or the workflow is', async () => {
    const error = await failureOf(generate({ extra: { checkpoint: 'missing.safetensors' } }));
    expect(error).toMatchObject({ code: 'invalid_value', param: 'checkpoint', charged: 'no', retryable: false });
    const nodes = {
      ...COMFY_OPTIONS.workflow,
      4: { class_type: 'Loader', inputs: { ckpt_name: 'missing.safetensors' } },
    };
    const broken = provider(true, { ...COMFY_OPTIONS, workflow: nodes });
    expect(await failureOf(broken.generate(orderOf(), contextOf()))).toMatchObject({
      code: 'upstream_error',
      message: 'The provider did not accept its workflow.',
    });
    // Their keys are free again.
    expect(bytesOf(await generate()).equals(png)).toBe(true);
    expect(new Set(proxy.sentKeys)).toEqual(new Set(['task_1-1']));
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import type { ProviderEntry } from '#providers/provider-entry.js';
import { waitUntil } from '#embedded/wait-until.js';
import type { ComfyUiProvider } from '#providers/comfyui/comfyui-provider.js';
import { comfyUiProvider } from '#providers/comfyui/from-entry.js';
import { MAX_IMAGE_BYTES } from '#providers/http/fetch-image.js';
import { JobEvents } from '#providers/comfyui/job-events.js';
import { seedOf } from '#providers/comfyui/workflow.js';
import { mayStartAgain, type ProviderImageRequest } from '#providers/image-provider.js';
import { ProviderOptionsError } from '#providers/provider-options.js';
import { bytesOf, contextOf, resultOf } from '#providers/sandbox/sandbox-calls.fixture.js';
import { FakeComfyUi } from '../support/comfyui-server.js';
import { describeImageProvider, failureOf, orderOf, plainImage } from '../support/image-provider-suite.js';

const PROMPT = 'a canary named 41c8';
const node = (type: string, inputs: object) => ({ class_type: type, inputs });
/** As ComfyUI exports it in its API format. */
const GENERATION = {
  3: node('KSampler', { seed: 1, steps: 20, latent_image: ['5', 0], positive: ['6', 0], model: ['4', 0] }),
  4: node('CheckpointLoaderSimple', { ckpt_name: 'flux.safetensors' }),
  5: node('EmptyLatentImage', { width: 512, height: 512, batch_size: 1 }),
  6: node('CLIPTextEncode', { text: 'a cat', clip: ['4', 1] }),
  8: node('VAEDecode', { samples: ['3', 0], vae: ['4', 2] }),
  9: node('SaveImage', { filename_prefix: 'Darkroom', images: ['8', 0] }),
};
const EDIT = {
  ...GENERATION,
  10: node('LoadImage', { image: 'example.png' }),
  11: node('LoadImage', { image: 'example.png' }),
};
const MASKED = { ...EDIT, 12: node('LoadImageMask', { image: 'example.png', channel: 'alpha' }) };
const SLOTS = { prompt: '6.text', width: '5.width', height: '5.height', seed: '3.seed' };
const PLAIN = { workflow: GENERATION, slots: SLOTS };
const WITH_EDITS = { ...PLAIN, edit_workflow: EDIT, edit_slots: { ...SLOTS, images: ['10.image', '11.image'] } };
const WITH_MASKS = { ...WITH_EDITS, edit_workflow: MASKED, edit_slots: { ...WITH_EDITS.edit_slots, mask: '12.image' } };

describe('the ComfyUI adapter', () => {
  let comfy: FakeComfyUi;
  let png: Buffer;
  beforeAll(async () => {
    png = await plainImage(1536, 864);
  });
  beforeEach(async () => {
    comfy = await new FakeComfyUi().start();
    comfy.drawing = { files: [png] };
  });
  afterEach(() => comfy.close());

  function provider(
    options: Readonly<Record<string, unknown>> = PLAIN,
    changes: Partial<ProviderEntry> = {},
  ): ComfyUiProvider {
    const entry: ProviderEntry = {
      name: 'gpu',
      type: 'comfyui',
      baseUrl: comfy.url,
      keys: [],
      limits: { concurrency: undefined, startsPerMinute: undefined },
      interrupted: 'retry',
      free: true,
      options,
      ...changes,
    };
    return comfyUiProvider(entry, entry.keys[0]);
  }

  const generate = async (
    changes: Partial<ProviderImageRequest> = {},
    context = contextOf(),
    options: object = PLAIN,
  ) => resultOf(await provider({ ...options }).generate(orderOf({ prompt: PROMPT, ...changes }), context));
  const unchecked = async (context = contextOf(), one = provider()) => {
    const answer = await one.generate(orderOf({ prompt: PROMPT }), context);
    if (!('pending' in answer)) throw new Error('the job was checked');
    expectNoSecret(answer.pending.problem ?? new Error('no problem'));
    return answer.pending;
  };
  const callsOf = (method: string, path: string) =>
    comfy.calls.filter((call) => call.method === method && call.path.startsWith(path));
  const image = (bytes: Buffer) => ({ bytes, contentType: 'image/png', width: 64, height: 64 }) as const;
  const status =
    (code: number, body: string | Buffer = '{}', headers = {}) =>
    (response: ServerResponse) =>
      void response.writeHead(code, headers).end(body);
  const cut = (response: ServerResponse) => void response.destroy();

  describeImageProvider({
    provider: () => provider(WITH_MASKS),
    behave: (behavior, order) => {
      const drawings: Partial<Record<typeof behavior, FakeComfyUi['drawing']>> = {
        image: { files: [png], previews: [png, png, png, png] },
        failure: { exception: 'torch.OutOfMemoryError' },
        'no-image': { files: [] },
        hang: { endless: true },
      };
      comfy.drawing = drawings[behavior] ?? {};
      return Promise.resolve(order);
    },
    begun: async () => {
      await waitUntil(() => comfy.runningId !== undefined, { timeoutMs: 30_000 });
    },
    lacks: ['usage', 'moderation', 'rate-limit'],
  });

  it('puts extra fields into their slots, a seed in place of its own, and says what it has no slot for', async () => {
    const options = { ...PLAIN, slots: { ...SLOTS, extra: { steps: '3.steps' } } };
    const { warnings } = await generate({ extra: { seed: 7, steps: 30, guidance: 4 } }, contextOf(), options);
    expect(comfy.lastNodes['3']?.inputs).toMatchObject({ seed: 7, steps: 30 });
    expect(warnings).toEqual(['The provider does not support guidance, so it was ignored.']);
    await generate({}, contextOf(), options);
    expect(comfy.lastNodes['3']?.inputs).toMatchObject({ seed: seedOf(contextOf().idempotencyKey), steps: 20 });
    const missing = { ...PLAIN, slots: { ...SLOTS, extra: { steps: '3.stepps' } } };
    expect(() => provider(missing)).toThrow(
      'options.workflow has no input stepps at node 3, which the slot steps names',
    );
  });

  it('puts the order into the workflow, and leaves the rest as it is', async () => {
    const { sentSize, warnings } = await generate();
    const expected = structuredClone(GENERATION) as unknown as Record<string, { inputs: Record<string, unknown> }>;
    Object.assign(expected['6']!.inputs, { text: PROMPT });
    Object.assign(expected['5']!.inputs, { width: 1536, height: 864 });
    Object.assign(expected['3']!.inputs, { seed: seedOf('task_1') });
    expect(comfy.lastNodes).toEqual(expected);
    expect([sentSize, warnings]).toEqual(['1536x864', []]);
    await generate({}, contextOf({ startNumber: 2 }));
    expect(comfy.lastNodes).toEqual(expected);
    await generate({}, contextOf({ idempotencyKey: 'task_2' }));
    expect(comfy.lastNodes['3']?.inputs['seed']).not.toBe(seedOf('task_1'));
  });

  it('asks for whole eighths, and for the tier’s square or the workflow’s own size where none is wanted', async () => {
    const size = async (changes: object, options: object = PLAIN): Promise<unknown> => {
      const { sentSize } = await generate(changes, contextOf(), options);
      const { width, height } = comfy.lastNodes['5']?.inputs ?? {};
      return [width, height, sentSize];
    };
    expect(await size({ width: 1001, height: 700 })).toEqual([1008, 704, '1008x704']);
    expect(await size({ width: undefined, height: undefined, squareEdge: 2048 })).toEqual([2048, 2048, '2048x2048']);
    expect(await size({ width: undefined, height: undefined })).toEqual([512, 512, 'auto']);
    expect(await size({}, { workflow: GENERATION, slots: { prompt: '6.text' } })).toEqual([512, 512, 'auto']);
  });

  it('puts one value into several nodes where that is said', async () => {
    const slots = { ...SLOTS, prompt: ['6.text', '9.filename_prefix'] };
    await generate({}, contextOf(), { workflow: GENERATION, slots });
    expect([comfy.lastNodes['6']?.inputs['text'], comfy.lastNodes['9']?.inputs['filename_prefix']]).toEqual([
      PROMPT,
      PROMPT,
    ]);
  });

  it('says what it has no way to honor', async () => {
    const options = { quality: 'hd', moderation: 'low', inputFidelity: 'high', background: 'transparent' } as const;
    const { warnings } = await generate(options);
    expect(warnings).toEqual(
      ['quality', 'moderation', 'input_fidelity', 'transparent background'].map(
        (name) => `The provider does not support ${name}, so it was ignored.`,
      ),
    );
    expect((await generate({ quality: 'auto', background: 'opaque', partialImages: 1 })).warnings).toEqual([
      'The provider sent no partial images.',
    ]);
  });

  it('uploads images and mask, each under a name of its own bytes, and edits with the other workflow', async () => {
    const [first, second, mask] = ['first', 'second', 'mask'].map((text) => image(Buffer.from(text)));
    await generate({ images: [first!, second!], mask: mask! }, contextOf(), WITH_MASKS);
    const { inputs } = comfy.lastNodes['10']!;
    const names = ['10', '11', '12'].map((id) => String(comfy.lastNodes[id]?.inputs['image']));
    expect(names.map((name) => String(comfy.uploads.get(name)))).toEqual(['first', 'second', 'mask']);
    expect(inputs['image']).toMatch(/^darkroom\/[0-9a-f]{32}\.png$/);
    await generate({ images: [first!, second!], mask: mask! }, contextOf(), WITH_MASKS);
    expect(comfy.uploads.size).toBe(3);
  });

  it('uses the last image again where the workflow has more places', async () => {
    const { warnings } = await generate({ images: [image(png)] }, contextOf(), WITH_EDITS);
    expect(comfy.lastNodes['11']?.inputs['image']).toBe(comfy.lastNodes['10']?.inputs['image']);
    expect(warnings).toEqual(['The provider needs 2 images, so the last one was used more than once.']);
  });

  it('lets everything be painted anew where the workflow has a place for a mask and there is none', async () => {
    await generate({ images: [{ ...image(png), width: 33, height: 7 }] }, contextOf(), WITH_MASKS);
    const mask = comfy.uploads.get(String(comfy.lastNodes['12']?.inputs['image'])) ?? Buffer.alloc(0);
    const { data, info } = await sharp(mask).raw().toBuffer({ resolveWithObject: true });
    expect([info.width, info.height, info.channels, data.some((byte) => byte !== 0)]).toEqual([33, 7, 4, false]);
  });

  it.each<[string, object, Partial<ProviderImageRequest>, string]>([
    ['an edit without a workflow for it', PLAIN, { images: [image(Buffer.from('a'))] }, 'image'],
    ['more images than places', WITH_EDITS, { images: [1, 2, 3].map((n) => image(Buffer.from([n]))) }, 'image'],
    [
      'a mask without a place',
      WITH_EDITS,
      { images: [image(Buffer.from('a'))], mask: image(Buffer.from('m')) },
      'mask',
    ],
  ])('refuses %s before anything is sent', async (_name, options, changes, param) => {
    const error = await failureOf(generate(changes, contextOf(), options));
    expect(error).toMatchObject({ code: 'unsupported_parameter', param, retryable: false, charged: 'no' });
    expect(comfy.calls).toHaveLength(0);
  });

  it('names its job as soon as it is queued', async () => {
    comfy.drawing = { endless: true, files: [png] };
    const accepted: string[] = [];
    const onAccepted = (jobId: string): Promise<void> => {
      expect(comfy.calls.at(-1)?.path).toBe('/prompt');
      accepted.push(jobId);
      comfy.drawing = { files: [png] };
      setImmediate(() => comfy.finish());
      return Promise.resolve();
    };
    await generate({}, contextOf({ onAccepted }));
    expect(accepted).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  });

  it.each<[string, FakeComfyUi['drawing']]>([
    ['is finished', {}],
    ['failed', { exception: 'RuntimeError' }],
  ])('is told at once that a job %s', async (_name, drawing) => {
    comfy.drawing = drawing;
    const heard: unknown[] = [];
    const ended = new Promise<string>((resolve) => {
      const listener = { onProgress: (...news: unknown[]) => heard.push(news), onPreview: () => 0, onEnd: resolve };
      void JobEvents.open(comfy.url, 'me', undefined, listener).then(async (events) => {
        const body = JSON.stringify({ prompt: GENERATION, client_id: 'me', prompt_id: 'job-1' });
        await fetch(`${comfy.url}/prompt`, { method: 'POST', body });
        await ended;
        events.close();
      });
    });
    expect(await ended).toBe('job-1');
    expect(heard).toEqual([
      ['job-1', 0.5],
      ['job-1', 1],
    ]);
  });

  it('works without a socket: refused, and dropped in the middle', async () => {
    comfy.refusesSockets = true;
    expect(bytesOf(await generate()).equals(png)).toBe(true);
    comfy.refusesSockets = false;
    comfy.drawing = { files: [png], dropsSockets: true };
    expect(bytesOf(await generate()).equals(png)).toBe(true);
    comfy.drawing = { files: [png], dropsSockets: true, endless: true };
    const call = generate();
    await waitUntil(() => callsOf('GET', '/queue').length >= 2, { timeoutMs: 30_000 });
    comfy.finish();
    expect(bytesOf(await call).equals(png)).toBe(true);
  });

  it('keeps no connection, even to a server that never says goodbye', async () => {
    for (const isPolite of [true, false]) {
      comfy.isPolite = isPolite;
      await generate();
      expect(await waitUntil(() => comfy.openSockets === 0, { timeoutMs: 20_000 })).toBe(true);
    }
    expect(comfy.socketHeaders).toHaveLength(2);
  });

  it('passes the key on everywhere, and no origin', async () => {
    const key = { name: 'k', secret: 'sk-canary' };
    await provider(PLAIN, { keys: [key] }).generate(orderOf(), contextOf());
    for (const headers of [...comfy.calls.map((call) => call.headers), ...comfy.socketHeaders]) {
      expect(headers.authorization).toBe('Bearer sk-canary');
      expect(headers).not.toHaveProperty('origin');
    }
  });

  it('takes the image of the node that is named as its output', async () => {
    const error = await failureOf(generate({}, contextOf(), { ...PLAIN, output: '8' }));
    expect(error.code).toBe('upstream_invalid_response');
    expect(bytesOf(await generate({}, contextOf(), { ...PLAIN, output: '9' })).equals(png)).toBe(true);
  });

  it('resumes a job that waits, runs or has ended, and orders nothing', async () => {
    comfy.drawing = { endless: true, files: [png] };
    const shutDown = async (): Promise<string> => {
      const stop = new AbortController();
      let named = '';
      const before = callsOf('GET', '/queue').length;
      const onAccepted = (jobId: string) => Promise.resolve(void (named = jobId));
      const call = generate({}, contextOf({ onAccepted, signal: stop.signal }));
      await waitUntil(() => callsOf('GET', '/queue').length > before, { timeoutMs: 30_000 });
      const reason = Object.assign(new Error('stopping'), { name: 'ShuttingDown' });
      stop.abort(reason);
      await expect(call).rejects.toBe(reason);
      return named;
    };
    const running = await shutDown();
    const waiting = await shutDown();
    expect([comfy.runningId, comfy.pendingIds]).toEqual([running, [waiting]]);
    const resumed = [running, waiting].map((resumeJobId) => generate({}, contextOf({ resumeJobId })));
    const looks = callsOf('GET', '/history').length;
    await waitUntil(() => callsOf('GET', '/history').length > looks + 2, { timeoutMs: 30_000 });
    comfy.finish();
    await waitUntil(() => comfy.runningId === waiting, { timeoutMs: 30_000 });
    comfy.finish();
    for (const call of resumed) expect(bytesOf(await call).equals(png)).toBe(true);
    expect(bytesOf(await generate({}, contextOf({ resumeJobId: running }))).equals(png)).toBe(true);
    expect(callsOf('POST', '/prompt')).toHaveLength(2);
    comfy.forget();
    const lost = await failureOf(generate({}, contextOf({ resumeJobId: running })));
    expect(lost).toMatchObject({ code: 'upstream_error', retryable: true, charged: 'no' });
  });

  it('does not take a job for lost that ends between two questions', async () => {
    let named = '';
    await generate({}, contextOf({ onAccepted: (jobId) => Promise.resolve(void (named = jobId)) }));
    comfy.faults.set('GET /history', [status(200)]);
    expect(bytesOf(await generate({}, contextOf({ resumeJobId: named }))).equals(png)).toBe(true);
  });

  it('stops a running job and takes a waiting one out of the queue when it is aborted', async () => {
    comfy.drawing = { endless: true };
    const begin = async (): Promise<{ stop: AbortController; call: Promise<unknown> }> => {
      const stop = new AbortController();
      const before = callsOf('GET', '/queue').length;
      const call = generate({}, contextOf({ signal: stop.signal }));
      await waitUntil(() => callsOf('GET', '/queue').length > before, { timeoutMs: 30_000 });
      return { stop, call };
    };
    const running = await begin();
    const waiting = await begin();
    expect(await waitUntil(() => comfy.pendingIds.length === 1, { timeoutMs: 20_000 })).toBe(true);
    const reason = new Error('cancelled');
    waiting.stop.abort(reason);
    await expect(waiting.call).rejects.toBe(reason);
    expect(comfy.pendingIds).toEqual([]);
    expect([comfy.runningId !== undefined, callsOf('POST', '/interrupt').length]).toEqual([true, 0]);
    running.stop.abort(reason);
    await expect(running.call).rejects.toBe(reason);
    expect(comfy.runningId).toBeUndefined();
  });

  it('leaves nothing in the queue that nobody would ask for', async () => {
    comfy.drawing = { endless: true };
    const unwritten = new Error('the database is away');
    await expect(generate({}, contextOf({ onAccepted: () => Promise.reject(unwritten) }))).rejects.toBe(unwritten);
    expect([comfy.runningId, comfy.pendingIds]).toEqual([undefined, []]);
    comfy.faults.set('POST /prompt', [cut]);
    expect(await failureOf(generate())).toMatchObject({ retryable: true, charged: 'maybe' });
    expect(callsOf('POST', '/queue')).toHaveLength(2);
  });

  it.each<[string, object, object]>([
    [
      'a workflow that asks for what the server has not',
      { ...GENERATION, 4: node('CheckpointLoaderSimple', { ckpt_name: 'missing.safetensors' }) },
      { code: 'upstream_error', retryable: false, charged: 'no' },
    ],
    [
      'a workflow without an output',
      { ...GENERATION, 9: node('PreviewImage', { images: ['8', 0] }) },
      { code: 'upstream_error', retryable: false, charged: 'no' },
    ],
  ])('classifies %s', async (_name, workflow, expected) => {
    const error = await failureOf(generate({}, contextOf(), { workflow, slots: SLOTS }));
    expect(error).toMatchObject(expected);
    expectNoSecret(error);
  });

  it('knows an image that the server could not read', async () => {
    comfy.faults.set('POST /upload/image', [status(200, '{"name":"lost.png","subfolder":"","type":"input"}')]);
    const error = await failureOf(generate({ images: [image(png)] }, contextOf(), WITH_EDITS));
    expect(error).toMatchObject({ code: 'invalid_image_file', retryable: false, charged: 'no' });
  });

  it.each<[string, (response: ServerResponse) => void, object]>([
    [
      'HTML',
      (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      { code: 'upstream_invalid_response', retryable: true },
    ],
    ['another JSON', status(200, '[]'), { code: 'upstream_invalid_response', retryable: true }],
    ['401', status(401), { code: 'upstream_error', retryable: false }],
    ['404', status(404), { code: 'upstream_error', retryable: false }],
    ['413', status(413), { code: 'upstream_error', retryable: false }],
    ['500', status(500), { code: 'upstream_error', retryable: true, status: 500 }],
    ['502 by a proxy', status(502, '<html>'), { code: 'upstream_error', retryable: true }],
    ['a closed connection', cut, { code: 'upstream_error', retryable: true }],
  ])('classifies an order answered by %s', async (_name, fault, expected) => {
    comfy.faults.set('POST /prompt', [fault]);
    const error = await failureOf(generate());
    expect(error).toMatchObject(expected);
    expectNoSecret(error);
  });

  it('says what a failed job is charged, and never what was drawn', async () => {
    comfy.drawing = { exception: 'RuntimeError' };
    const own = await failureOf(generate());
    expect(own).toMatchObject({ code: 'upstream_error', retryable: true, charged: 'no' });
    expectNoSecret(own);
    const rented = provider(PLAIN, { free: false, interrupted: 'fail' });
    comfy.faults.set('POST /prompt', [status(200, '<html>')]);
    const unheard = await failureOf(rented.generate(orderOf(), contextOf()));
    expect(unheard).toMatchObject({ code: 'upstream_invalid_response', charged: 'maybe' });
    const error = await failureOf(rented.generate(orderOf(), contextOf()));
    expect([error.charged, error.retryable, mayStartAgain(rented, error.charged)]).toEqual(['maybe', false, false]);
  });

  it('notices that a job was stopped at the server', async () => {
    comfy.drawing = { endless: true };
    const call = failureOf(generate());
    await waitUntil(() => comfy.runningId !== undefined, { timeoutMs: 30_000 });
    await fetch(`${comfy.url}/interrupt`, { method: 'POST' });
    expect(await call).toMatchObject({ message: 'The image was cancelled at the provider.', retryable: true });
  });

  it('bears a server that is away for a moment, and the image’s way failing', async () => {
    comfy.faults.set('GET /history', [cut, status(500), status(200, '<html>')]);
    comfy.faults.set('GET /view', [cut, status(500)]);
    expect(bytesOf(await generate()).equals(png)).toBe(true);
  });

  it('keeps a job that it may not ask for, or whose image it does not get, and orders nothing more', async () => {
    let named = '';
    const onAccepted = (jobId: string) => Promise.resolve(void (named = jobId));
    comfy.faults.set('GET /history', [status(401), status(503, '', { 'retry-after': '40' })]);
    const refused = { code: 'upstream_error', status: 401, keyRefused: true };
    expect(await unchecked(contextOf({ onAccepted }))).toMatchObject({ checkAfterMs: 15_000, problem: refused });
    comfy.faults.set('GET /view', [cut, status(404), status(503, '', { 'retry-after': '40' })]);
    const context = contextOf({ resumeJobId: named });
    expect(await unchecked(context)).toMatchObject({ checkAfterMs: 40_000, problem: { status: 503 } });
    expect(bytesOf(await generate({}, context)).equals(png)).toBe(true);
    comfy.faults.set('GET /view', [status(200, Buffer.alloc(MAX_IMAGE_BYTES + 1))]);
    expect(await failureOf(generate({}, context))).toMatchObject({ code: 'upstream_invalid_response', charged: 'yes' });
    expect(callsOf('POST', '/prompt')).toHaveLength(1);
  });

  describe('made of options', () => {
    let folder: string;
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'comfyui-'));
    });
    afterAll(() => rmSync(folder, { recursive: true }));

    const problemsOf = (options: Readonly<Record<string, unknown>>): readonly string[] => {
      try {
        provider(options);
      } catch (error) {
        if (error instanceof ProviderOptionsError) return error.problems;
        throw error;
      }
      return [];
    };

    it('reads workflows from files', async () => {
      const path = join(folder, 'flux.json');
      writeFileSync(path, JSON.stringify(GENERATION));
      expect(bytesOf(await generate({}, contextOf(), { workflow: path, slots: SLOTS })).equals(png)).toBe(true);
    });

    it('names everything that is wrong', () => {
      const broken = join(folder, 'broken.json');
      writeFileSync(broken, '{"3":');
      expect(problemsOf({ workflow: join(folder, 'none.json'), slots: SLOTS })).toEqual([
        `options.workflow can't be read: ${join(folder, 'none.json')}`,
      ]);
      expect(problemsOf({ workflow: broken, slots: SLOTS })).toEqual([`options.workflow is no JSON: ${broken}`]);
      expect(problemsOf({ workflow: { nodes: [], links: [] }, slots: SLOTS })).toEqual([
        'options.workflow is not in the API format; export it with "Export (API)"',
      ]);
      const slots = { prompt: '60.text', width: '5.breadth', height: '5.height', seed: '3.model' };
      expect(
        problemsOf({
          workflow: GENERATION,
          slots,
          output: '77',
          edit_workflow: { 4: GENERATION[4] },
          edit_slots: { prompt: '6.text', images: ['10.image'] },
        }),
      ).toEqual([
        'options.workflow has no node 60, which the slot prompt names',
        'options.workflow has no input breadth at node 5, which the slot width names',
        'options.workflow has another node at 3.model, which the slot seed names',
        'options.workflow has no node 77, which is named as its output',
        'options.edit_workflow has no node 6, which the slot prompt names',
        'options.edit_workflow has no node 10, which the slot images names',
        'options.edit_workflow has no node that saves an image; name one as its output',
      ]);
      expect(problemsOf({ slots: { width: '5.width', color: '1.x' }, edit_slots: SLOTS, speed: 9 })).toEqual([
        "options must have required property 'workflow'",
        'options.speed is not known',
        'options must have property edit_workflow when property edit_slots is present',
        "options.slots must have required property 'prompt'",
        'options.slots.color is not known',
        'options.slots must have property height when property width is present',
        "options.edit_slots must have required property 'images'",
      ]);
    });
  });

  /** Neither what callers see nor what is logged says whom we called or for what. */
  function expectNoSecret(error: Error): void {
    const shown: string[] = [];
    for (let next: unknown = error; next instanceof Error; next = next.cause) shown.push(next.message);
    for (const secret of [PROMPT, '127.0.0.1', new URL(comfy.url).port]) expect(shown.join('\n')).not.toContain(secret);
  }
});

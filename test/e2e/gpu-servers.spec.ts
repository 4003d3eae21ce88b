import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  COMFY_OPTIONS,
  LOADED,
  startComfyApi,
  startComfyUi,
  startLocalAi,
  startSdServer,
  startSglang,
  startVllmOmni,
  type Drawn,
  type GpuServer,
} from '../support/gpu-servers.js';
import { plainImage } from '../support/image-provider-suite.js';
import { signInFirstAdmin } from '../support/console.js';
import { startPlatform, type Platform } from '../support/platform.js';

const GENERATIONS = '/v1/images/generations';
const EDITS = '/v1/images/edits';

/** Declared alike for each of their models; a server's own bounds may be narrower. */
const DECLARED = `{
      seed: { type: integer, min: 0, max: 4294967295 },
      steps: { type: integer, min: 0, max: 500 },
      guidance: { type: number, min: 0, max: 20 },
      negative_prompt: { type: string, max_length: 1000 },
      checkpoint: { type: string, max_length: 100 },
    }`;
const ASKED = { seed: 7, steps: 12, guidance: 3.5, negative_prompt: 'blur' };

/** What differs between the servers; the options are those of the recipes in docs/providers.md. */
interface Case {
  readonly name: string;
  readonly start: () => Promise<GpuServer>;
  /** openai unless it says otherwise. */
  readonly type?: 'comfyui' | 'comfyui-v2';
  readonly options: string;
  /** Images per call; 2 unless it says otherwise. */
  readonly n?: number;
  readonly capabilities: string;
  /** What it lists as its models; absent: it has no list. */
  readonly lists?: string;
  /** What it does with the fields of `ASKED`, in generations and in edits. */
  readonly draws: Partial<Drawn>;
  readonly edits: Partial<Drawn>;
  /** Something that it does not accept, and what the caller learns. */
  readonly rejects: readonly [order: object, learns: string];
}

const ALL = { seed: 7, steps: 12, guidance: 3.5, negative: 'blur' };
const DIFFUSERS =
  '{ seed: seed, steps: num_inference_steps, guidance: guidance_scale, negative_prompt: negative_prompt }';

const CASES: readonly Case[] = [
  {
    name: 'vllm-omni',
    start: startVllmOmni,
    options: `{ stream: false, auto_size: false, extra: ${DIFFUSERS} }`,
    capabilities: '{ masks: false }',
    lists: LOADED,
    draws: ALL,
    edits: { ...ALL, size: '1024x1024', images: 1 },
    rejects: [{ steps: 400 }, '400 invalid_value steps'],
  },
  {
    name: 'sglang',
    start: startSglang,
    options: `{ stream: false, auto_size: false, response_format: b64_json, extra: ${DIFFUSERS} }`,
    capabilities: '{ masks: false }',
    lists: LOADED,
    draws: ALL,
    edits: { ...ALL, size: '1024x1024', images: 1 },
    rejects: [{ steps: 0 }, '400 invalid_value steps'],
  },
  {
    name: 'localai',
    start: startLocalAi,
    options: '{ stream: false, response_format: b64_json, masks: inpainting, extra: { seed: seed, steps: step } }',
    capabilities: '{ images: 1, sizes: [512x512, 1024x1024] }',
    lists: LOADED,
    draws: { seed: 7, steps: 12 },
    edits: { size: '512x512', images: 1, mask: 255 },
    rejects: [{ model: 'localai-other' }, '502 upstream_error undefined'],
  },
  {
    name: 'sd-server',
    start: startSdServer,
    options: `{
      stream: false,
      masks: white,
      extra: {
        seed: sd_cpp_extra_args.seed,
        steps: sd_cpp_extra_args.sample_params.sample_steps,
        guidance: sd_cpp_extra_args.sample_params.guidance.txt_cfg,
        negative_prompt: sd_cpp_extra_args.negative_prompt,
      },
    }`,
    capabilities: '{ sizes: [512x512, 1024x1024] }',
    lists: 'sd-cpp-local',
    draws: ALL,
    edits: { ...ALL, size: '1024x1024', images: 1, mask: 255 },
    rejects: [{ steps: 0 }, '502 upstream_error undefined'],
  },
  ...(['comfyui', 'comfyui-v2'] as const).map((type) => ({
    name: type,
    type,
    start: type === 'comfyui' ? startComfyUi : startComfyApi,
    options: JSON.stringify(COMFY_OPTIONS),
    n: 1,
    capabilities: '{ images: 1, masks: false }',
    draws: ALL,
    edits: { ...ALL, size: '1024x1024', images: 1 },
    rejects: [{ checkpoint: 'missing.safetensors' }, '400 invalid_value checkpoint'] as const,
  })),
];

const modelsOf = ({ name, capabilities, n = 2 }: Case): string => `
  ${name}:
    kind: image
    accepts: { qualities: [auto], max_n: ${n} }
    extra: ${DECLARED}
    routes: [{ provider: ${name}, model: ${LOADED}, capabilities: ${capabilities} }]
  ${name}-other:
    kind: image
    routes: [{ provider: ${name}, model: not-loaded, capabilities: ${capabilities} }]`;

describe('image servers on GPUs of one’s own', () => {
  let platform: Platform;
  let folder: string;
  let picture: string;
  let mask: string;
  const servers = new Map<string, GpuServer>();
  const server = (name: string): GpuServer => servers.get(name)!;

  beforeAll(async () => {
    for (const { name, start } of CASES) servers.set(name, await start());
    const uri = (png: Buffer): string => `data:image/png;base64,${png.toString('base64')}`;
    picture = uri(await plainImage(512, 512));
    mask = uri(await plainImage(512, 512, '#00000000'));
    folder = await mkdtemp(join(tmpdir(), 'darkroom-gpus-'));
    const providers = CASES.map(
      ({ name, type = 'openai', options }) =>
        `  ${name}: { type: ${type}, base_url: "${server(name).url}", free: true, options: ${options} }`,
    );
    const both = `
  anywhere:
    kind: image
    extra: ${DECLARED}
    routes: [{ provider: localai, model: ${LOADED} }, { provider: sd-server }]`;
    const file = `providers:\n${providers.join('\n')}\nmodels:${CASES.map(modelsOf).join('')}${both}\n`;
    await writeFile(join(folder, 'models.yaml'), file);
    platform = await startPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      // LocalAI answers inpainting with links to itself.
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      EGRESS_PORTS: new URL(server('localai').url).port,
    });
  });
  afterAll(async () => {
    await platform.close();
    for (const { close } of servers.values()) await close();
    await rm(folder, { recursive: true, force: true });
  });

  let count = 0;
  const generate = (model: string, changes: object = {}, headers = {}): Promise<Response> => {
    const body = { model, prompt: `a pear, number ${++count}`, size: '1024x1024', ...changes };
    return platform.call(GENERATIONS, { body, headers });
  };
  const taskOf = async (response: Response): Promise<Record<string, unknown>> => {
    const id = response.headers.get('x-task-id') ?? '';
    const answer = await platform.call(`/v1/tasks/${id}?include=timeline`);
    return ((await answer.json()) as { data: Record<string, unknown> }).data;
  };
  const callsIn = (task: Record<string, unknown>): Record<string, unknown>[] =>
    (task['timeline'] as Record<string, unknown>[]).filter(({ event }) => event === 'provider_call');

  describe.each(CASES)('$name', ({ name, n = 2, draws, edits, rejects }) => {
    const last = (): Drawn | undefined => server(name).drawn.at(-1);

    it('draws what was ordered, with the extra fields that it knows, which the task shows', async () => {
      const response = await generate(name, { ...ASKED, n, tiling: true });
      expect([response.status, await response.json()]).toEqual([
        200,
        expect.objectContaining({
          data: Array.from({ length: n }, () => expect.anything() as unknown),
          size: '1024x1024',
        }),
      ]);
      expect(last()).toMatchObject({ prompt: `a pear, number ${count}`, n, size: '1024x1024', images: 0, ...draws });
      const names = Object.keys(ASKED).filter((field) => draws[DRAWN_AS[field] as keyof Drawn] !== undefined);
      const ignored = ['tiling', ...Object.keys(ASKED).filter((field) => !names.includes(field))];
      expect(response.headers.get('x-ignored-params')?.split(', ').sort()).toEqual(ignored.sort());
      const task = await taskOf(response);
      expect(task['extra']).toEqual(
        Object.fromEntries(Object.entries(ASKED).filter(([field]) => names.includes(field))),
      );
      expect(callsIn(task)).toEqual([expect.objectContaining({ provider: name, outcome: 'succeeded', charged: 'no' })]);
    });

    it('draws in its own way what was ordered without a size', async () => {
      expect((await generate(name, { size: 'auto', resolution: '1k' })).status).toBe(200);
      expect(last()?.size).toMatch(/^(1024x1024|512x512)$/);
    });

    it('edits an image, with a mask if it can', async () => {
      const body = { model: name, prompt: `an edited pear, number ${++count}`, size: '1024x1024', ...ASKED };
      const masked = edits.mask === undefined ? {} : { mask: { image_url: mask } };
      const response = await platform.call(EDITS, { body: { ...body, images: [{ image_url: picture }], ...masked } });
      expect([response.status, await response.json()]).toEqual([200, expect.objectContaining({ size: '1024x1024' })]);
      expect(last()).toMatchObject({ prompt: `an edited pear, number ${count}`, ...edits });
    });

    it.each(['full', 'out of memory', 'killed'] as const)('is asked again when it was %s', async (trouble) => {
      server(name).meet(trouble);
      const before = server(name).drawn.length;
      const response = await generate(name, { seed: 9 });
      expect(response.status).toBe(200);
      expect(server(name).drawn.length).toBe(before + 1);
      expect(last()).toMatchObject({ seed: 9 });
      expect(
        callsIn(await taskOf(response)).map(({ outcome, charged }) => `${String(outcome)} ${String(charged)}`),
      ).toEqual(['failed no', 'succeeded no']);
    });

    it('is not asked again for what it rejects, and the caller learns what that is', async () => {
      const [order, learns] = rejects;
      const { asked } = server(name);
      const response = await generate(name, order);
      const { error } = (await response.json()) as { error: { code: string; param?: string | null } };
      expect(`${response.status} ${error.code} ${error.param ?? undefined}`).toBe(learns);
      expect(server(name).asked).toBe(asked + 1);
    });
  });

  it.each(CASES.flatMap(({ name, lists }) => (lists === undefined ? [] : [[name, lists]])))(
    'list their models: %s',
    async (name, lists) => {
      const change = { entry: { type: 'openai', base_url: server(name).url } };
      const ada = await admin();
      expect(await ada.ask('/catalog/connection', { body: change })).toEqual({ models: [lists], problem: null });
    },
  );

  it('take another seed for another request, in every image of a call and whoever draws it', async () => {
    const keyed = { 'idempotency-key': 'seeded' };
    const order = { prompt: 'a seeded pear', n: 2 };
    const before = server('vllm-omni').drawn.length;
    const first = await generate('vllm-omni', { ...order, seed: 1 }, keyed);
    const same = await generate('vllm-omni', { ...order, seed: 1 }, keyed);
    const other = await generate('vllm-omni', { ...order, seed: 2 }, keyed);
    expect([first.status, same.status, other.status]).toEqual([200, 200, 422]);
    expect(same.headers.get('x-task-id')).toBe(first.headers.get('x-task-id'));
    const drawn = server('vllm-omni').drawn.slice(before);
    expect(drawn.map(({ seed, n }) => [seed, n])).toEqual([[1, 2]]);
    // Without a key, a retry is recognized by the SDK's count, and by its fields.
    const retry = { 'x-stainless-retry-count': '1' };
    const unkeyed = await generate('vllm-omni', { ...order, seed: 3 }, { 'x-stainless-retry-count': '0' });
    const reseeded = await generate('vllm-omni', { ...order, seed: 4 }, retry);
    expect(reseeded.headers.get('x-task-id')).not.toBe(unkeyed.headers.get('x-task-id'));
    expect(
      server('vllm-omni')
        .drawn.slice(before)
        .map(({ seed }) => seed),
    ).toEqual([1, 3, 4]);
  });

  it('pass on what they are too busy for, with its seed', async () => {
    server('localai').meet('full');
    const before = server('sd-server').drawn.length;
    const response = await generate('anywhere', { seed: 11, guidance: 2 });
    expect([response.status, response.headers.get('x-ignored-params')]).toEqual([200, null]);
    expect(server('sd-server').drawn.slice(before)).toEqual([expect.objectContaining({ seed: 11, guidance: 2 })]);
    const calls = callsIn(await taskOf(response)).map(
      ({ provider, outcome }) => `${String(provider)} ${String(outcome)}`,
    );
    expect(calls).toEqual(['localai failed', 'sd-server succeeded']);
  });

  it('get a strict request only if they know all of its fields', async () => {
    const before = [server('localai').drawn.length, server('sd-server').drawn.length];
    const strict = { strict: true, seed: 12, guidance: 2 };
    expect((await generate('anywhere', strict)).status).toBe(200);
    expect([server('localai').drawn.length, server('sd-server').drawn.length]).toEqual([before[0], before[1]! + 1]);
    const refused = await generate('localai', strict);
    const { error } = (await refused.json()) as { error: object };
    expect([refused.status, error]).toEqual([
      400,
      expect.objectContaining({ code: 'unsupported_parameter', param: 'guidance' }),
    ]);
  });

  let signedIn: ReturnType<typeof signInFirstAdmin> | undefined;
  const admin = () => (signedIn ??= signInFirstAdmin(platform));
});

/** Where the tests' servers note the fields. */
const DRAWN_AS: Readonly<Record<string, string>> = {
  seed: 'seed',
  steps: 'steps',
  guidance: 'guidance',
  negative_prompt: 'negative',
};

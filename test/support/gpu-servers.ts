import type { ServerResponse } from 'node:http';
import sharp from 'sharp';
import { ComfyApiProxy } from './comfy-api-proxy.js';
import { FakeComfyUi } from './comfyui-server.js';
import { json, startUpstream, text, type Script, type UpstreamCall } from './scripted-upstream.js';

/** What a server was told to draw, in our words; undefined: its own default. */
export interface Drawn {
  readonly prompt: string;
  readonly n: number;
  readonly size: string;
  readonly seed?: number | undefined;
  readonly steps?: number | undefined;
  readonly guidance?: number | undefined;
  readonly negative?: string | undefined;
  /** Number of reference images. */
  readonly images: number;
  /** Average gray of the mask, 0..255. */
  readonly mask?: number | undefined;
}

/** Something that keeps a server from drawing one image. */
type Trouble = 'full' | 'out of memory' | 'killed';

/** A server that somebody runs on a GPU: what it accepts, what it answers, and how it fails. */
export interface GpuServer {
  /** As in the entry of a provider. */
  readonly url: string;
  /** What it has drawn, in order. */
  readonly drawn: readonly Drawn[];
  /** Number of requests for images so far, whatever came of them. */
  readonly asked: number;
  /** Happens to the next request that it would draw. */
  meet(trouble: Trouble): void;
  close(): Promise<void>;
}

/** The model that each of them has loaded. */
export const LOADED = 'flux-dev';

/** A call as a server reads it. Throws a Refusal. */
type Read = (call: UpstreamCall) => Promise<Drawn>;

interface Dialect {
  /** How it reads calls, by `<method> <path>`; others are not found. */
  readonly reads: Readonly<Record<string, Read>>;
  readonly answer: (images: readonly string[], drawn: Drawn, call: UpstreamCall) => Script;
  /** Of paths that it does not have, and files that it has saved. */
  readonly otherwise?: (call: UpstreamCall) => Script | undefined;
  readonly models: unknown;
  readonly troubles: Readonly<Record<Exclude<Trouble, 'killed'>, Script>>;
}

/** What a server answers to what it does not accept. */
class Refusal extends Error {
  constructor(readonly script: Script) {
    super('refused');
  }
}

const cutOff: Script = (_call, response) => void response.destroy();

async function start({ reads, answer, otherwise, models, troubles: scripts }: Dialect): Promise<GpuServer> {
  const upstream = await startUpstream();
  const drawn: Drawn[] = [];
  const troubles: Trouble[] = [];
  upstream.script(async (call, response) => {
    const read = reads[`${call.method} ${call.path}`];
    if (call.path === '/v1/models') return json(models)(call, response);
    if (read === undefined) return (otherwise?.(call) ?? json({ detail: 'Not Found' }, 404))(call, response);
    const script = await read(call).then(
      async (wanted) => {
        const trouble = troubles.shift();
        if (trouble === 'killed') return cutOff;
        if (trouble !== undefined) return scripts[trouble];
        drawn.push(wanted);
        const images = await Promise.all(Array.from({ length: wanted.n }, () => draw(wanted.size)));
        return answer(images, wanted, call);
      },
      (error: unknown) => {
        if (error instanceof Refusal) return error.script;
        throw error;
      },
    );
    await script(call, response);
  });
  return {
    url: upstream.url,
    drawn,
    get asked() {
      return upstream.calls.filter(({ method }) => method === 'POST').length;
    },
    meet: (trouble) => void troubles.push(trouble),
    close: () => upstream.close(),
  };
}

async function draw(size: string): Promise<string> {
  const [width = 0, height = 0] = size.split('x').map(Number);
  const plain = sharp({ create: { width, height, channels: 3, background: '#406080' } });
  return (await plain.png().toBuffer()).toString('base64');
}

const DEFAULT_SIZE = '1024x1024';

/** The fields of a JSON request or a form, and its files. */
interface Sent {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly files: FormData | undefined;
}

async function sentBy({ headers, body }: UpstreamCall): Promise<Sent> {
  const type = headers['content-type'] ?? '';
  if (!type.startsWith('multipart/form-data'))
    return { fields: JSON.parse(String(body)) as Sent['fields'], files: undefined };
  const files = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
  return { fields: Object.fromEntries([...files].filter(([, value]) => typeof value === 'string')), files };
}

async function grayOf(mask: unknown): Promise<number | undefined> {
  if (!(mask instanceof File)) return undefined;
  // The servers load it without its alpha channel.
  const { channels } = await sharp(Buffer.from(await mask.arrayBuffer()))
    .removeAlpha()
    .grayscale()
    .stats();
  return Math.round(channels[0]?.mean ?? NaN);
}

const numberOf = (value: unknown): number | undefined => (value === undefined ? undefined : Number(value));
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/**
 * vLLM-Omni 0.30.0 (`vllm serve <model> --omni`), by entrypoints/openai/api_server.py and protocol/images.py: a JSON
 * field outside of its bounds is named in Pydantic's text alone; a size is two numbers; edits know size auto, and
 * masks of no caller.
 */
export function startVllmOmni(): Promise<GpuServer> {
  const refuse = (message: string): never => {
    throw new Refusal(json({ error: { message, type: 'Bad Request', param: null, code: 400 } }, 400));
  };
  const bounds: Readonly<Record<string, readonly [number, number]>> = {
    n: [1, 10],
    num_inference_steps: [1, 200],
    guidance_scale: [0, 20],
    true_cfg_scale: [0, 20],
    output_compression: [0, 100],
    seed: [-(2 ** 63), 2 ** 63],
  };
  const read = ({ fields, files }: Sent): Drawn => {
    for (const [name, [least, most]] of Object.entries(bounds)) {
      const value = numberOf(fields[name]);
      if (value !== undefined && !(value >= least && value <= most)) {
        refuse(
          `1 validation error:\n  {'type': 'less_than_equal', 'loc': ('body', '${name}'), 'msg': 'Input should be less than or equal to ${most}', 'input': ${value}, 'ctx': {'le': ${most}}}`,
        );
      }
    }
    if (fields['model'] !== undefined && fields['model'] !== LOADED)
      refuse(`Model mismatch: request specifies '${textOf(fields['model'])}' but server is running '${LOADED}'.`);
    if (!['b64_json', 'file'].includes(textOf(fields['response_format']) ?? 'b64_json'))
      refuse('Only response_format ‘b64_json’ is supported now.');
    const asked = textOf(fields['size']);
    const size = files !== undefined && asked === 'auto' ? undefined : asked;
    const [width = 0, height = 0] = (size ?? DEFAULT_SIZE).split('x').map(Number);
    if (!(width > 0 && height > 0)) refuse(`Invalid size format: '${size}'. Expected format: 'WIDTHxHEIGHT'.`);
    // Of --max-generated-image-size.
    if (width * height > 4_194_304)
      refuse(`Requested image size ${size} exceeds the maximum allowed size of 4194304 pixels.`);
    return {
      prompt: String(fields['prompt']),
      n: numberOf(fields['n']) ?? 1,
      size: size ?? DEFAULT_SIZE,
      seed: numberOf(fields['seed']),
      steps: numberOf(fields['num_inference_steps']),
      guidance: numberOf(fields['guidance_scale']),
      negative: textOf(fields['negative_prompt']),
      images: [...(files?.getAll('image') ?? []), ...(files?.getAll('image[]') ?? [])].length,
    };
  };
  return start({
    reads: {
      'POST /v1/images/generations': async (call) => read(await sentBy(call)),
      'POST /v1/images/edits': async (call) => read(await sentBy(call)),
    },
    answer: (images, { size }) =>
      json({
        created: 1_795_233_600,
        data: images.map((b64) => ({ b64_json: b64, url: null, revised_prompt: null })),
        output_format: 'png',
        size,
        cot_output: null,
        metrics: null,
      }),
    models: { object: 'list', data: [{ id: LOADED, object: 'model', owned_by: 'vllm' }] },
    troubles: {
      // While its stages scale or restart.
      full: json({ error: 'The model is currently scaling. Please try again later.' }, 503),
      'out of memory': json(
        {
          error: {
            message: 'Image generation failed: CUDA out of memory. Tried to allocate 2.00 GiB.',
            type: 'Internal Server Error',
            param: null,
            code: 500,
          },
        },
        500,
      ),
    },
  });
}

/**
 * SGLang 0.5.23 (`sglang serve --model-path <model>`), by multimodal_gen/runtime/entrypoints/openai/image_api.py: its
 * default is url, which it can't answer without a store; no size auto anywhere; a mask has no effect.
 */
export function startSglang(): Promise<GpuServer> {
  const refuse = (detail: unknown, status = 400): never => {
    throw new Refusal(json({ detail }, status));
  };
  const read = ({ fields, files }: Sent): Drawn => {
    const format = textOf(fields['response_format']) ?? (files === undefined ? 'url' : 'b64_json');
    if (format === 'url') refuse("response_format='url' requires cloud storage to be configured.");
    for (const name of ['seed', 'num_inference_steps', 'guidance_scale']) {
      if (Number.isNaN(numberOf(fields[name])))
        refuse([{ type: 'int_parsing', loc: ['body', name], msg: 'Input should be a valid integer' }], 422);
    }
    const size = textOf(fields['size']) ?? DEFAULT_SIZE;
    if (!/^[1-9]\d*x[1-9]\d*$/.test(size)) refuse('size must be formatted as positive WIDTHxHEIGHT');
    const steps = numberOf(fields['num_inference_steps']);
    if (steps !== undefined && steps <= 0) refuse('num_inference_steps must be positive');
    const images = [...(files?.getAll('image') ?? []), ...(files?.getAll('image[]') ?? [])].length;
    if (files !== undefined && images === 0) refuse("Field 'image' or 'url' is required", 422);
    return {
      prompt: String(fields['prompt']),
      n: numberOf(fields['n']) ?? 1,
      size,
      seed: numberOf(fields['seed']),
      steps,
      guidance: numberOf(fields['guidance_scale']),
      negative: textOf(fields['negative_prompt']),
      images,
    };
  };
  return start({
    reads: {
      'POST /v1/images/generations': async (call) => read(await sentBy(call)),
      'POST /v1/images/edits': async (call) => read(await sentBy(call)),
    },
    answer: (images, { prompt }) =>
      json({
        id: '3f1b',
        created: 1_795_233_600,
        data: images.map((b64) => ({
          b64_json: b64,
          url: null,
          revised_prompt: prompt,
          file_path: null,
          resize: null,
        })),
        peak_memory_mb: 24_312.5,
        inference_time_s: 3.1,
        usage: null,
      }),
    models: { object: 'list', data: [{ id: LOADED, object: 'model', owned_by: 'sglang', num_gpus: 1 }] },
    troubles: {
      // A scheduler that has failed: every POST, until a restart.
      full: json({ error: 'Multi-rank forward ran out of memory; restart the server.' }, 503),
      // An exception that nothing catches.
      'out of memory': text('Internal Server Error', 'text/plain', 500),
    },
  });
}

/**
 * LocalAI 4.9.0, by core/http/endpoints/openai/image.go and inpainting.go: answers are links unless b64_json is asked
 * for, of inpainting always; a size without x means 512x512; there is no /images/edits.
 */
export function startLocalAi(): Promise<GpuServer> {
  const error = (message: string, code: number, headers = {}): Script =>
    json({ error: { code, message, type: '' } }, code, headers);
  const saved = new Map<string, string>();
  const checked = (model: unknown): void => {
    if (model === LOADED) return;
    throw new Refusal(error(`model "${String(model)}" not found. To see available models, call GET /v1/models`, 404));
  };
  return start({
    reads: {
      'POST /v1/images/generations': async (call) => {
        const { fields } = await sentBy(call);
        checked(fields['model']);
        if (!Number.isInteger(fields['step'] ?? 0)) throw new Refusal(error('failed parsing request body', 400));
        // It has no field for what to avoid: that follows a | in the prompt.
        const [prompt = '', negative] = String(fields['prompt']).split('|');
        const size = textOf(fields['size']) ?? '';
        return {
          prompt,
          negative,
          n: numberOf(fields['n']) ?? 1,
          size: size.includes('x') ? size : '512x512',
          seed: numberOf(fields['seed']),
          steps: numberOf(fields['step']),
          images: 0,
        };
      },
      'POST /v1/images/inpainting': async (call) => {
        const { fields, files } = await sentBy(call);
        checked(fields['model']);
        const mask = await grayOf(files?.get('mask'));
        if (!files?.has('image') || mask === undefined) throw new Refusal(error('missing image file', 400));
        const images = files.getAll('image').length;
        return {
          prompt: String(fields['prompt']),
          n: 1,
          size: '512x512',
          steps: numberOf(fields['steps']),
          images,
          mask,
        };
      },
    },
    answer: (images, _drawn, { path, body, headers }) => {
      const asksForBytes = path.endsWith('/generations') && String(body).includes('"response_format":"b64_json"');
      const links = images.map((b64) => {
        const name = `/generated-images/b64${saved.size}.png`;
        saved.set(name, b64);
        return `http://${headers.host ?? ''}${name}`;
      });
      const data = images.map((b64, index) => (asksForBytes ? { b64_json: b64 } : { url: links[index] }));
      const none = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
      return json({ id: '7d0c', created: 1_795_233_600, data, usage: none });
    },
    otherwise: ({ path }) => {
      const image = saved.get(path);
      return image === undefined ? error('Resource not found', 404) : text(Buffer.from(image, 'base64'), 'image/png');
    },
    models: { object: 'list', data: [{ id: LOADED, object: 'model' }] },
    troubles: {
      full: error('backend execution limit reached', 503, { 'retry-after': '1' }),
      'out of memory': error('could not load model: rpc error: code = Canceled', 500),
    },
  });
}

/**
 * sd-server of stable-diffusion.cpp (97d2990, 2026-08-19), by examples/server/routes_openai.cpp: OpenAI's fields only;
 * the others are read from a block in the prompt. It draws one request after the other, and refuses none for being
 * busy.
 */
export function startSdServer(): Promise<GpuServer> {
  const refuse = (error: string): never => {
    throw new Refusal(json({ error }, 400));
  };
  const read = async ({ fields, files }: Sent): Promise<Drawn> => {
    const whole = textOf(fields['prompt']) ?? '';
    if (whole === '') refuse('prompt required');
    const block = /<sd_cpp_extra_args>(.*?)<\/sd_cpp_extra_args>/;
    const args = argsIn(block.exec(whole)?.[1] ?? '{}') ?? refuse('invalid sd_cpp_extra_args');
    const { seed, negative_prompt: negative, sample_params: sampling } = args;
    if ((sampling?.sample_steps ?? 1) < 1) refuse('invalid params');
    const images = files?.getAll('image[]').length ?? 0;
    if (files !== undefined && images === 0) refuse('at least one image[] required');
    const size = textOf(fields['size']) ?? '';
    return {
      prompt: whole.replace(block, '').trim(),
      n: numberOf(fields['n']) ?? 1,
      size: /^\d+x\d+$/.test(size) ? size : '512x512',
      seed,
      steps: sampling?.sample_steps,
      guidance: sampling?.guidance?.txt_cfg,
      negative,
      images,
      mask: await grayOf(files?.get('mask')),
    };
  };
  return start({
    reads: {
      'POST /v1/images/generations': async (call) => read(await sentBy(call)),
      'POST /v1/images/edits': async (call) => read(await sentBy(call)),
    },
    answer: (images) =>
      json({ created: 1_795_233_600, data: images.map((b64) => ({ b64_json: b64 })), output_format: 'png' }),
    models: { data: [{ id: 'sd-cpp-local', object: 'model', owned_by: 'local' }] },
    troubles: {
      // Of a proxy in front of it.
      full: text('<html><title>503 Service Temporarily Unavailable</title></html>', 'text/html', 503),
      'out of memory': json({ error: 'generate_image returned no results' }, 500),
    },
  });
}

interface SdArgs {
  readonly seed?: number;
  readonly negative_prompt?: string;
  readonly sample_params?: { readonly sample_steps?: number; readonly guidance?: { readonly txt_cfg?: number } };
}

function argsIn(text: string): SdArgs | undefined {
  try {
    return JSON.parse(text) as SdArgs;
  } catch {
    return undefined;
  }
}

/** Draws once as `drawing` says, and as usual afterwards. */
class MoodyComfyUi extends FakeComfyUi {
  usual: FakeComfyUi['drawing'] = {};

  override finish(): void {
    super.finish();
    this.drawing = this.usual;
  }

  override forget(): void {
    super.forget();
    this.drawing = this.usual;
  }
}

/** ComfyUI 0.3 and later (`python main.py --listen`), whose queue is never full; a proxy in front of it may be. */
export async function startComfyUi(): Promise<GpuServer> {
  const comfy = await comfyUi();
  const isFull = (): void => void comfy.faults.set(ORDER, [(response) => void response.writeHead(503).end()]);
  return comfyServer(comfy, comfy.url, { isFull, close: () => comfy.close() });
}

/** comfy-api-proxy 0.1.6 in front of it. */
export async function startComfyApi(): Promise<GpuServer> {
  const comfy = await comfyUi();
  const proxy = await new ComfyApiProxy(comfy).start();
  return comfyServer(comfy, proxy.url, {
    isFull: () => {
      proxy.refusals = 1;
    },
    close: async () => {
      await proxy.close();
      await comfy.close();
    },
  });
}

async function comfyUi(): Promise<MoodyComfyUi> {
  const comfy = await new MoodyComfyUi().start();
  comfy.usual = { files: [Buffer.from(await draw(DEFAULT_SIZE), 'base64')] };
  comfy.drawing = comfy.usual;
  return comfy;
}

const ORDER = 'POST /prompt';

/** With the workflows of `COMFY_OPTIONS`. */
function comfyServer(
  comfy: MoodyComfyUi,
  url: string,
  { isFull, close }: { readonly isFull: () => void; readonly close: () => Promise<void> },
): GpuServer {
  return {
    url,
    close,
    get drawn() {
      return comfy.drawn.map(drawnBy);
    },
    get asked() {
      return comfy.calls.filter(({ method, path }) => `${method} ${path}` === ORDER).length;
    },
    meet: (trouble) => {
      if (trouble === 'full') isFull();
      if (trouble === 'out of memory') comfy.drawing = { exception: 'torch.OutOfMemoryError' };
      if (trouble !== 'killed') return;
      // While it draws: it forgets the job, and the check of it breaks off.
      comfy.drawing = { endless: true };
      const killed = (response: ServerResponse): void => {
        comfy.forget();
        response.destroy();
      };
      comfy.faults.set('GET /queue', [killed]);
    },
  };
}

type Nodes = FakeComfyUi['drawn'][number];

function drawnBy(nodes: Nodes): Drawn {
  const input = (node: string, name: string): unknown => nodes[node]?.inputs[name];
  return {
    prompt: String(textOf(input('6', 'text'))),
    n: 1,
    size: `${String(numberOf(input('5', 'width')))}x${String(numberOf(input('5', 'height')))}`,
    seed: numberOf(input('3', 'seed')),
    steps: numberOf(input('3', 'steps')),
    guidance: numberOf(input('3', 'cfg')),
    negative: textOf(input('7', 'text')),
    images: Object.values(nodes).filter(({ class_type: type }) => type === 'LoadImage').length,
  };
}

const node = (type: string, inputs: object) => ({ class_type: type, inputs });
const WORKFLOW = {
  3: node('KSampler', {
    ...{ seed: 1, steps: 20, cfg: 8, latent_image: ['5', 0], positive: ['6', 0], negative: ['7', 0], model: ['4', 0] },
  }),
  4: node('CheckpointLoaderSimple', { ckpt_name: 'flux.safetensors' }),
  5: node('EmptyLatentImage', { width: 512, height: 512, batch_size: 1 }),
  6: node('CLIPTextEncode', { text: 'a cat', clip: ['4', 1] }),
  7: node('CLIPTextEncode', { text: '', clip: ['4', 1] }),
  8: node('VAEDecode', { samples: ['3', 0], vae: ['4', 2] }),
  9: node('SaveImage', { filename_prefix: 'Darkroom', images: ['8', 0] }),
};
const SLOTS = {
  ...{ prompt: '6.text', width: '5.width', height: '5.height', seed: '3.seed' },
  extra: { steps: '3.steps', guidance: '3.cfg', negative_prompt: '7.text', checkpoint: '4.ckpt_name' },
};

/** Options of a provider with a workflow for images and one for edits of one image. */
export const COMFY_OPTIONS = {
  workflow: WORKFLOW,
  slots: SLOTS,
  edit_workflow: { ...WORKFLOW, 10: node('LoadImage', { image: 'example.png' }) },
  edit_slots: { ...SLOTS, images: ['10.image'] },
};

import { adaptationsFor, type RequestedImage } from './adaptations.js';
import type { Route } from './catalog.js';
import { parseCatalog } from './parse-catalog.js';

const { providers } = parseCatalog(
  `providers:
  openai: { type: openai }
  sandbox: { type: sandbox }
  gpu: { type: comfyui, base_url: 'http://10.0.0.5:8188' }
  vendor: { type: apimart, keys: [{ env: KEY }] }
  tables: { type: toapis, keys: [{ env: KEY }] }
  flux: { type: fal, keys: [{ env: KEY }] }
  gemini: { type: google, keys: [{ env: KEY }] }
  vllm: { type: openai, options: { extra: { steps: num_inference_steps } } }
  slotted:
    type: comfyui
    base_url: 'http://10.0.0.5:8188'
    options: { slots: { prompt: 6.text, seed: 3.seed, extra: { steps: 3.steps } }, edit_slots: { prompt: 6.text } }
models: { m: { kind: image, routes: [{ provider: sandbox }] } }`,
  'test',
  { KEY: 'k' },
);
const ROUTE: Route = {
  provider: 'sandbox',
  model: 'm',
  weight: 1,
  edits: true,
  masks: true,
  markup: false,
  svg: false,
  images: 16,
  maxN: 4,
  sizes: undefined,
};
const ASK: RequestedImage = {
  action: 'generation',
  pixels: { width: 2048, height: 1152 },
  quality: null,
  moderation: null,
  inputFidelity: null,
  background: null,
  images: 0,
  mask: false,
};

describe('what a route would have to adapt', () => {
  it.each<[string, Partial<Route>, Partial<RequestedImage>, string | undefined]>([
    ['nothing, as a rule', {}, {}, undefined],
    ['a size that it can not make', { provider: 'openai', sizes: ['1024x1024'] }, {}, 'size'],
    ['no size that it can', { provider: 'openai', sizes: ['1024x1024', '2048x1152'] }, {}, undefined],
    ['only ratios, whatever the route lists', { provider: 'gemini', sizes: ['1024x1024'] }, {}, 'size'],
    ['a size that is none of its steps', {}, { pixels: { width: 1000, height: 1000 } }, 'size'],
    ['a size of too few pixels', { provider: 'openai' }, { pixels: { width: 512, height: 512 } }, 'size'],
    ['no size of latents', { provider: 'gpu' }, { pixels: { width: 1000, height: 1000 } }, undefined],
    ['no size of the table', { provider: 'tables' }, {}, undefined],
    ['another size than those of the table', { provider: 'tables' }, { pixels: { width: 1088, height: 608 } }, 'size'],
    ['no size that is its own choice', { sizes: ['1024x1024'] }, { pixels: null }, undefined],
    ['references that it does not take', { edits: false }, { images: 1 }, 'image_urls'],
    ['images of an edit that it does not take', { edits: false }, { images: 1, action: 'edit' }, 'images'],
    ['more references than it takes', { images: 2 }, { images: 3 }, 'image_urls'],
    ['no images that it makes at once', {}, { n: 4 }, undefined],
    ['more images than it makes at once', {}, { n: 5 }, 'n'],
    ['a mask that it does not take', { masks: false }, { images: 1, mask: true }, 'mask'],
    ['markup that it does not take', {}, { images: 1, markup: true }, 'markup'],
    ['qualities of older models', { provider: 'openai' }, { quality: 'hd' }, 'quality'],
    ['none of the qualities of today', { provider: 'openai' }, { quality: 'high' }, undefined],
    ['quality where images have none', { provider: 'gpu' }, { quality: 'high' }, 'quality'],
    ['moderation where there is none', { provider: 'gpu' }, { moderation: 'low' }, 'moderation'],
    ['pixels where only ratios are known', { provider: 'gemini' }, {}, 'size'],
    ['moderation where nobody is told of it', { provider: 'flux' }, { moderation: 'low' }, 'moderation'],
    ['transparency where there is none', { provider: 'vendor' }, { background: 'transparent' }, 'background'],
    [
      'input_fidelity where there is none',
      { provider: 'vendor' },
      { inputFidelity: 'high', images: 1 },
      'input_fidelity',
    ],
    ['nothing that is left to the provider', { provider: 'gpu' }, { quality: 'auto', background: 'auto' }, undefined],
    ['moderation with images', { provider: 'openai' }, { moderation: 'low', images: 1 }, 'moderation'],
    ['no extra field, where all are sent as they are', { provider: 'openai' }, { extra: { steps: 20 } }, undefined],
    ['no extra field that has a name there', { provider: 'vllm' }, { extra: { steps: 20 } }, undefined],
    ['an extra field that has no name there', { provider: 'vllm' }, { extra: { seed: 7 } }, 'seed'],
    ['no extra field with a slot', { provider: 'slotted' }, { extra: { steps: 20, seed: 7 } }, undefined],
    ['an extra field without a slot', { provider: 'slotted' }, { extra: { guidance: 4 } }, 'guidance'],
    [
      'an extra field whose slot is not for edits',
      { provider: 'slotted' },
      { extra: { steps: 9 }, images: 1 },
      'steps',
    ],
    ['extra fields that nobody is told of', { provider: 'flux' }, { extra: { seed: 7 } }, 'seed'],
    ['input_fidelity without images', { provider: 'openai' }, { inputFidelity: 'high' }, 'input_fidelity'],
  ])('%s', (_name, route, ask, param) => {
    const full = { ...ROUTE, ...route };
    const found = adaptationsFor(full, providers.get(full.provider), { ...ASK, ...ask });
    expect(found.map((adaptation) => adaptation.param)).toEqual(param === undefined ? [] : [param]);
  });

  const isExact = (provider: string, sizes: readonly string[], width: number, height: number): boolean =>
    adaptationsFor({ ...ROUTE, provider, sizes }, providers.get(provider), { ...ASK, pixels: { width, height } })
      .length === 0;

  it.each(['openai', 'gpu', 'flux'])('%s is asked for the sizes of its route', (provider) => {
    expect(isExact(provider, ['1024x1024', '1000x1000'], 1000, 1000)).toBe(true);
    expect(isExact(provider, ['1024x1024', '1000x1000'], 2048, 1152)).toBe(false);
  });

  it.each(['sandbox', 'vendor', 'tables'])('%s is not, whatever they are', (provider) => {
    expect(isExact(provider, ['1024x1024', '1000x1000'], 1000, 1000)).toBe(false);
    expect(isExact(provider, ['1024x1024', '1000x1000'], 2048, 1152)).toBe(true);
  });
});

import type { ModelEnd } from './catalog.js';
import type { ModelSource, RouteSource } from './catalog-schema.js';

/** A name of OpenAI's for an image model, as of 2026-11-28. */
interface OpenAiModel {
  /** First day on which OpenAI no longer serves it. */
  readonly shutdownDate?: string;
  /** The models that OpenAI recommends instead. */
  readonly successors?: readonly string[];
  /** How it is served; absent for a name that had ended by then. */
  readonly entry?: Pick<ModelSource, 'accepts' | 'prices'> & Pick<RouteSource, 'capabilities'>;
}

/** What the addresses of OpenAI's own API begin with. */
export const OPENAI_HOST = 'https://api.openai.com/';

const MAX_N = 10;
const CURRENT = [`gpt-image-2.6-sunburst`, `gpt-image-2.6-flare`];
const FINE = ['standard', 'low', 'medium', 'high', 'xhigh', 'max', 'auto'];
const FINER_QUALITIES = { qualities: [...FINE, 'hd'], edit_qualities: FINE };

/**
 * What OpenAI asks of each model that lasts, in USD, on the day when its price list was read. It has no price of an image,
 * and none of text that a model writes, because none does.
 */
const prices: ModelSource['prices'] = [
  {
    from: '2026-11-28',
    per_million_tokens: { input: 5, cached_input: 1.25, image_input: 8, cached_image_input: 2, output: 30 },
  },
];

/** Fidelity can't be chosen from gpt-image-2 on: OpenAI rejects the field, and always keeps what it sees. */
const GPT_IMAGE_2: OpenAiModel = { entry: { prices, accepts: { input_fidelities: [] } } };
const GPT_IMAGE_2_5: OpenAiModel = {
  entry: {
    prices,
    accepts: { ...FINER_QUALITIES, input_fidelities: [], max_n: MAX_N },
    capabilities: { markup: true },
  },
};
const GPT_IMAGE_2_6: OpenAiModel = {
  entry: {
    prices,
    accepts: {
      ...FINER_QUALITIES,
      output_formats: ['png', 'jpeg', 'webp', 'gif'],
      complexities: ['low', 'medium', 'high'],
      input_fidelities: [],
      max_n: MAX_N,
    },
  },
};

/** Draws three sizes; others are fitted. */
const older = (inputFidelities: string[]): OpenAiModel => ({
  shutdownDate: '2026-12-01',
  successors: CURRENT,
  entry: {
    accepts: { input_fidelities: inputFidelities, max_n: MAX_N },
    capabilities: { sizes: ['1024x1024', '1536x1024', '1024x1536'] },
  },
});

/** From the newest to the oldest, so that lists begin with what OpenAI recommends, after gpt-image-2. */
const OPENAI_IMAGE_MODELS: Readonly<Record<string, OpenAiModel>> = {
  'gpt-image-2': GPT_IMAGE_2,
  'gpt-image-2-2026-04-21': GPT_IMAGE_2,
  'gpt-image-2.6-sunburst': GPT_IMAGE_2_6,
  'gpt-image-2.6-flare': GPT_IMAGE_2_6,
  'gpt-image-2.5-sunburst': GPT_IMAGE_2_5,
  'gpt-image-2.5-sunburst-2026-09-08': GPT_IMAGE_2_5,
  'gpt-image-2.5-flare': GPT_IMAGE_2_5,
  'gpt-image-2.5-flare-2026-09-08': GPT_IMAGE_2_5,
  'gpt-image-1.5': older(['high', 'low']),
  'gpt-image-1.5-2025-12-16': older(['high', 'low']),
  'gpt-image-1-mini': older(['low']),
  'chatgpt-image-latest': older(['high', 'low']),
  'gpt-image-1': { shutdownDate: '2026-10-23', successors: ['gpt-image-2.5-sunburst', 'gpt-image-2.5-flare'] },
  'dall-e-3': { shutdownDate: '2026-05-12', successors: ['gpt-image-2'] },
  'dall-e-2': { shutdownDate: '2026-05-12', successors: ['gpt-image-2'] },
};

/** Entries of the image models that OpenAI serves at a time, each with one route to `provider`. Without prices if another server generates the images. */
export function openAiEntries(provider: string, now: Date, isOpenAi: boolean): Record<string, ModelSource> {
  const served = Object.entries(OPENAI_IMAGE_MODELS).flatMap(([name, { entry, shutdownDate, successors = [] }]) => {
    if (entry === undefined || Date.parse(shutdownDate ?? '') <= now.getTime()) return [];
    const { accepts, capabilities, prices: listed } = entry;
    const model: ModelSource = {
      kind: 'image',
      ...(shutdownDate === undefined ? {} : { shutdown_date: shutdownDate, successors: [...successors] }),
      ...(accepts && { accepts }),
      routes: [{ provider, ...(capabilities && { capabilities }) }],
      ...(isOpenAi && listed && { prices: listed }),
    };
    return [[name, model] as const];
  });
  return Object.fromEntries(served);
}

/** Names of OpenAI's image models of which no end is known. */
export const LASTING_OPENAI_MODELS: readonly string[] = Object.entries(OPENAI_IMAGE_MODELS)
  .filter(([, { shutdownDate }]) => shutdownDate === undefined)
  .map(([name]) => name);

/** When OpenAI ends, or ended, the model that it calls by this name; undefined if it has announced nothing. */
export function openAiEnd(name: string): ModelEnd | undefined {
  const { shutdownDate, successors = [] } = Object.hasOwn(OPENAI_IMAGE_MODELS, name)
    ? (OPENAI_IMAGE_MODELS[name] ?? {})
    : {};
  return shutdownDate === undefined ? undefined : { shutdownDate, successors };
}

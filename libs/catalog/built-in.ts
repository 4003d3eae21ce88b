import type { CatalogFile, ModelSource } from './catalog-schema.js';
import { LASTING_OPENAI_MODELS, OPENAI_HOST, openAiEntries } from './openai-models.js';

const chat = (provider: string): ModelSource => ({ kind: 'chat', routes: [{ provider }] });
const chats = (provider: string): CatalogFile['models'] => ({ 'gpt-5.5': chat(provider), 'gpt-5.4': chat(provider) });

/**
 * The catalog when nothing is configured. OpenAI's other names mean the same model, so that clients whose default is
 * one of them work as they are.
 */
const SANDBOX: CatalogFile = {
  providers: { sandbox: { type: 'sandbox' } },
  models: {
    'gpt-image-2': {
      kind: 'image',
      aliases: LASTING_OPENAI_MODELS.filter((name) => name !== 'gpt-image-2'),
      routes: [{ provider: 'sandbox', capabilities: { markup: true } }],
    },
    ...chats('sandbox'),
  },
};

export const SANDBOX_CATALOG = JSON.stringify(SANDBOX);

/** What the environment says of the server that generates the images. */
interface OpenAiServer {
  /** OPENAI_BASE_URL. */
  readonly baseUrl?: string | undefined;
  /** OPENAI_IMAGE_MODEL, the server's name for its only image model. */
  readonly imageModel?: string | undefined;
}

/** The catalog when only OPENAI_API_KEY is set: OpenAI's models of the day, or the one that the environment names. */
export function openAiCatalog(now: Date, { baseUrl, imageModel }: OpenAiServer = {}): string {
  const provider = 'openai';
  const served = openAiEntries(provider, now, (baseUrl || OPENAI_HOST).startsWith(OPENAI_HOST));
  const file: CatalogFile = {
    providers: {
      [provider]: { type: 'openai', ...(baseUrl && { base_url: baseUrl }), keys: [{ env: 'OPENAI_API_KEY' }] },
    },
    models: {
      ...(imageModel
        ? {
            'gpt-image-2': {
              kind: 'image',
              routes: [{ provider, model: imageModel }],
              ...pricesOf(served[imageModel]),
            },
          }
        : served),
      ...chats(provider),
    },
  };
  return JSON.stringify(file);
}

function pricesOf(model: ModelSource | undefined): Pick<ModelSource, 'prices'> {
  return model?.prices === undefined ? {} : { prices: model.prices };
}

import type { Catalogue, ProviderEntry, ProviderKey, ProviderType } from '#catalogue/catalogue.js';
import { aiSdkProvider } from './ai-sdk/from-entry.js';
import { comfyUiProvider } from './comfyui/from-entry.js';
import type { PictureFetcher } from './http/fetch-picture.js';
import type { ImageProvider } from './image-provider.js';
import type { OpenAiConfig } from './openai/openai.config.js';
import { OpenAiProvider } from './openai/openai-provider.js';
import { openAiSettings } from './openai/openai-settings.js';
import type { MakeProvider } from './registry.js';
import { obeysDirectives, type SandboxConfig } from './sandbox/sandbox.config.js';
import { SandboxProvider } from './sandbox/sandbox-provider.js';
import { submitPollProvider } from './submit-poll/from-entry.js';

/** What adapters are made of beside their entry. */
interface AdapterParts {
  readonly sandbox: SandboxConfig;
  readonly openai: OpenAiConfig;
  /** Opens the addresses that providers answer with. */
  readonly fetcher: PictureFetcher;
}

type Make = (entry: ProviderEntry, key: ProviderKey | undefined, parts: AdapterParts) => ImageProvider;

/** Who speaks which protocol. */
const ADAPTERS: Record<ProviderType, Make> = {
  sandbox: (_entry, _key, { sandbox }) => new SandboxProvider(obeysDirectives(sandbox)),
  openai: (entry, key, { openai, fetcher }) => new OpenAiProvider(openAiSettings(entry, key, openai), fetcher),
  apimart: jobVendor,
  evolink: jobVendor,
  toapis: jobVendor,
  comfyui: (entry, key) => comfyUiProvider(entry, key),
  fal: libraryVendor,
  google: libraryVendor,
};

function jobVendor(entry: ProviderEntry, key: ProviderKey | undefined, { fetcher }: AdapterParts): ImageProvider {
  return submitPollProvider(entry, needed(key), fetcher);
}

function libraryVendor(entry: ProviderEntry, key: ProviderKey | undefined, { fetcher }: AdapterParts): ImageProvider {
  return aiSdkProvider(entry, needed(key), fetcher);
}

function needed(key: ProviderKey | undefined): ProviderKey {
  if (key === undefined) throw new Error('keys: at least one is needed');
  return key;
}

/** Makes the adapter of an entry by its type. Throws Error when the entry's options are wrong. */
export function makeProviderFrom(parts: AdapterParts): MakeProvider {
  return (entry, key) => ADAPTERS[entry.type](entry, key, parts);
}

/** What keeps adapters from being made of a catalogue's entries. */
export function adapterProblems(catalogue: Catalogue, make: MakeProvider): string[] {
  return [...catalogue.providers.values()].flatMap((entry) => {
    try {
      make(entry, entry.keys[0]);
      return [];
    } catch (error) {
      return [`providers.${entry.name}.${error instanceof Error ? error.message : String(error)}`];
    }
  });
}

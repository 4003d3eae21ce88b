import type { ImageProviderType } from '#catalogue/image-provider-types.js';
import type { ProviderEntry, ProviderKey } from '#catalogue/catalogue.js';
import type { ImageProvider } from './image-provider.js';
import type { OpenAiConfig } from './openai/openai.config.js';
import { OpenAiProvider, type PictureFetcher } from './openai/openai-provider.js';
import { openAiSettings } from './openai/openai-settings.js';
import type { MakeProvider } from './registry.js';
import { obeysDirectives, type SandboxConfig } from './sandbox/sandbox.config.js';
import { SandboxProvider } from './sandbox/sandbox-provider.js';

/** What adapters are made of beside their entry. */
interface AdapterParts {
  readonly sandbox: SandboxConfig;
  readonly openai: OpenAiConfig;
  /** Opens the addresses that providers answer with. */
  readonly fetcher: PictureFetcher;
}

type Make = (entry: ProviderEntry, key: ProviderKey | undefined, parts: AdapterParts) => ImageProvider;

/** Who speaks which protocol. The catalogue refuses image routes to any other type. */
const ADAPTERS: Record<ImageProviderType, Make> = {
  sandbox: (_entry, _key, { sandbox }) => new SandboxProvider(obeysDirectives(sandbox)),
  openai: (entry, key, { openai, fetcher }) => new OpenAiProvider(openAiSettings(entry, key, openai), fetcher),
};

/** Makes the adapter of an entry by its type. */
export function makeProviderFrom(parts: AdapterParts): MakeProvider {
  return (entry, key) => ADAPTERS[entry.type as ImageProviderType](entry, key, parts);
}

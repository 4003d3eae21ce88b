import type { AcceptedValues } from '#contract/accepted-values.js';
import type { ImageProvider } from './image-provider.js';
import type { SizeGrid } from './offered-size.js';
import type { ProviderEntry, ProviderKey } from './provider-entry.js';

/** Fetches an image from an address that a provider answered with. Throws AppError, or the signal's reason. */
export interface ImageFetcher {
  get(url: string, options: { readonly signal: AbortSignal; readonly maxBytes: number }): Promise<Buffer>;
}

/** What adapters are made of, besides their entry. */
export interface AdapterParts {
  /** The settings of a class that this process has loaded. */
  readonly settings: <T extends object>(of: new () => T) => T;
  /** Opens the addresses that providers answer with. */
  readonly fetcher: ImageFetcher;
}

/** Makes the adapter of an entry for one of its keys. Throws Error when the entry's options are wrong. */
export type MakeAdapter = (entry: ProviderEntry, key: ProviderKey | undefined, parts: AdapterParts) => ImageProvider;

/** The models that a provider names, or why it names none, for operators. */
export type ListedModels = { readonly models: readonly string[] } | { readonly problem: string };

/** Asks a provider for its models with one of its keys, which costs nothing. Throws the signal's reason. */
export type ListModels = (
  entry: ProviderEntry,
  key: ProviderKey | undefined,
  parts: Pick<AdapterParts, 'settings'>,
  signal: AbortSignal,
) => Promise<ListedModels>;

/** Which options of a request a type of provider takes as they are; `strict` refuses the others. */
export interface SupportedOptions {
  /** Pixels that can be asked for as they are: all in steps, those of the pixel table; `ratio`: only proportions can. */
  readonly size: SizeGrid | 'table' | 'ratio';
  /** `any`; `current`: not the older names standard and hd; `none`. */
  readonly quality: 'any' | 'current' | 'none';
  readonly moderation: 'always' | 'without images' | 'never';
  readonly inputFidelity: 'always' | 'with images' | 'never';
  readonly transparency: boolean;
}

/**
 * A type of provider: all that is known of it before it is called. The catalog's schema and defaults, the answers to
 * `strict` and the registry of adapters are derived from it. It stands in the adapter's folder, and in `descriptors.ts`.
 */
export interface ProviderDescriptor {
  /** What the console calls the type. */
  readonly title: string;
  /** Where it is when the catalog does not say. */
  readonly baseUrl?: string;
  /** Below its base URL, where a new image is ordered; absent where its library or model decides. */
  readonly imagesPath?: string;
  /** What its entry must name. */
  readonly needs: readonly ('base_url' | 'keys')[];
  /** Whether its calls cost nothing, unless the entry says otherwise: it runs on hardware of one's own. */
  readonly free: boolean;
  /** Whether it answers chats, too. */
  readonly chat: boolean;
  /** The setting with which all entries of the type are told what becomes of interrupted calls. */
  readonly interruptedSetting?: string;
  /** JSON Schema of what only this type knows; the console's form follows from it. */
  readonly options: object;
  /** Options that may name a file of the worker in place of its content. */
  readonly fileOptions?: readonly string[];
  readonly takes: SupportedOptions;
  /** What requests may say to its models whose entries say nothing else. */
  readonly accepts: AcceptedValues;
  /** Most images that one call for a model, by the provider's name of it, returns. */
  readonly maxN: (model: string) => number;
  /** Loads the adapter, which only workers need. */
  readonly load: () => Promise<MakeAdapter>;
  /** Loads what asks it for its models; absent where nothing can be asked for free. */
  readonly loadModels?: () => Promise<ListModels>;
}

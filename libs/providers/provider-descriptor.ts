import type { AcceptedValues } from '#contract/accepted-values.js';
import type { ImageProvider } from './image-provider.js';
import type { SizeGrid } from './offered-size.js';
import type { ProviderEntry, ProviderKey } from './provider-entry.js';

/** Downloads an image from a URL in a provider's response. Throws AppError, or the signal's reason. */
export interface ImageFetcher {
  get(
    url: string,
    options: { readonly signal: AbortSignal; readonly maxBytes: number; readonly decode: true },
  ): Promise<Buffer>;
}

/** What adapters need besides their entry. */
export interface AdapterParts {
  /** Returns this process's settings of a config class. */
  readonly settings: <T extends object>(of: new () => T) => T;
  /** Downloads from URLs in providers' responses. */
  readonly fetcher: ImageFetcher;
}

/** Creates an entry's adapter for one of its keys. Throws Error if the entry's options are wrong. */
export type MakeAdapter = (entry: ProviderEntry, key: ProviderKey | undefined, parts: AdapterParts) => ImageProvider;

/** The models that a provider lists, or why it lists none, for operators. */
export type ListedModels = { readonly models: readonly string[] } | { readonly problem: string };

/** Asks a provider for its models with one of its keys, free of charge. Throws the signal's reason. */
export type ListModels = (
  entry: ProviderEntry,
  key: ProviderKey | undefined,
  parts: Pick<AdapterParts, 'settings'>,
  signal: AbortSignal,
) => Promise<ListedModels>;

/** A provider's case against an end user. */
export interface SafetyCase {
  /** As the provider got it in `safety_identifier` or `user`. */
  readonly endUser: string;
  /** Why, in the provider's words. */
  readonly reason: string | undefined;
}

/**
 * Reads a case with one of the provider's keys; undefined when this key has no such case. Throws ProviderError, and the
 * signal's reason.
 */
export type ReadSafetyCase = (
  entry: ProviderEntry,
  key: ProviderKey | undefined,
  caseId: string,
  parts: Pick<AdapterParts, 'settings'>,
  signal: AbortSignal,
) => Promise<SafetyCase | undefined>;

/** `withImages`: whether the request has reference images. */
export type TakesExtra = (name: string, options: ProviderEntry['options'], withImages: boolean) => boolean;

/** The request options that a provider type supports unchanged; `strict` rejects the others. */
export interface SupportedOptions {
  /**
   * Pixel sizes that can be requested unchanged: multiples of a step, or those of the pixel table; `ratio`: only aspect
   * ratios.
   */
  readonly size: SizeGrid | 'table' | 'ratio';
  /** Whether the `sizes` of a route, if it has any, are requested instead. */
  readonly routeSizes: boolean;
  /** `any`; `current`: all but the older names standard and hd; `none`. */
  readonly quality: 'any' | 'current' | 'none';
  readonly moderation: 'always' | 'without images' | 'never';
  readonly inputFidelity: 'always' | 'with images' | 'never';
  readonly transparency: boolean;
  readonly complexity: boolean;
  /** Whether it can send markup, an image drawn over the first one; a route says whether its model takes it. */
  readonly markup: boolean;
  /** Whether it can return SVG documents, for models whose entries list that format. */
  readonly svg: boolean;
  /** Whether it draws animated GIFs with a chosen number and duration of frames. */
  readonly frames: boolean;
  /** Whether a field of `extra`, which only a model's entry knows, is sent on; depends on the entry's options. */
  readonly extra: TakesExtra;
}

/**
 * A provider type, and all that is known about it before a call. The catalog's schema and defaults, the checks of
 * `strict`, and the registry of adapters are derived from it. It is in the adapter's folder, and listed in
 * `descriptors.ts`.
 */
export interface ProviderDescriptor {
  /** The type's name in the console. */
  readonly title: string;
  /** Default base URL. */
  readonly baseUrl?: string;
  /** Where new images are ordered, relative to the base URL; absent if the library or model decides. */
  readonly imagesPath?: string;
  /** Fields that an entry must have. */
  readonly needs: readonly ('base_url' | 'keys')[];
  /** Whether its calls cost nothing, unless the entry says otherwise, because it runs on the operator's hardware. */
  readonly free: boolean;
  /** Whether it also supports chats. */
  readonly chat: boolean;
  /** The setting that decides for all entries of this type whether interrupted calls are retried. */
  readonly interruptedSetting?: string;
  /** JSON Schema of the type's own options; the console's form is generated from it. */
  readonly options: object;
  /** Options that may contain the path of a file on the worker instead of its content. */
  readonly fileOptions?: readonly string[];
  readonly takes: SupportedOptions;
  /** Values that its models accept, unless their entries say otherwise. */
  readonly accepts: AcceptedValues;
  /** Maximum images per call, by the provider's name of the model. */
  readonly maxN: (model: string) => number;
  /** Loads the adapter, which only workers need. */
  readonly load: () => Promise<MakeAdapter>;
  /** Loads the model listing; absent if models can't be listed free of charge. */
  readonly loadModels?: () => Promise<ListModels>;
  /** Loads the reading of safety cases; absent if it sends no webhooks about end users. */
  readonly loadCases?: () => Promise<ReadSafetyCase>;
}

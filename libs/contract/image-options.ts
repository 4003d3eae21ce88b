import type { OutputFormat } from './accepted-values.js';
import type { ExtraValues } from './extra-fields.js';

/** The model that writes an SVG document, apart from the image model. */
export interface SvgAuthor {
  readonly model?: string;
  readonly reasoning?: { readonly effort?: string };
}

/**
 * What a request may ask of a provider besides prompt, images, and size. Declare a new field in the request's class
 * (image-request.ts) and here, and use it in the adapters that support it.
 */
export interface ImageOptionValues {
  readonly quality: string | null;
  readonly background: 'transparent' | 'opaque' | 'auto' | null;
  readonly moderation: string | null;
  readonly inputFidelity: string | null;
  readonly outputFormat: OutputFormat;
  /** 0..100, for jpeg and webp. */
  readonly outputCompression: number | null;
  /** The caller's name for its end user. */
  readonly user: string | null;
  /** A digest that identifies the end user to the provider. Older tasks don't have it, nor what follows. */
  readonly safetyIdentifier?: string | null;
  /** How much to plan before drawing, apart from the quality. */
  readonly complexity?: string | null;
  /** Frames of a GIF, 2..16. */
  readonly frameCount?: number | null;
  /** How long each frame of a GIF is shown, in ms. */
  readonly frameDurationMs?: number | null;
  /** Who writes an SVG document. */
  readonly svg?: SvgAuthor | null;
  /** Fields that only the model's catalog entry knows; absent when there are none. */
  readonly extra?: ExtraValues;
}

/** The same options for adapters: undefined = not requested. */
export type RequestedOptions = {
  readonly [Name in keyof ImageOptionValues]:
    Exclude<ImageOptionValues[Name], null> | (null extends ImageOptionValues[Name] ? undefined : never);
};

const FIELDS = {
  quality: 'quality',
  background: 'background',
  moderation: 'moderation',
  inputFidelity: 'input_fidelity',
  outputFormat: 'output_format',
  outputCompression: 'output_compression',
  user: 'user',
  safetyIdentifier: 'safety_identifier',
  complexity: 'complexity',
  frameCount: 'frame_count',
  frameDurationMs: 'frame_duration_ms',
  svg: 'svg',
} as const satisfies Record<NamedOption, string>;

type NamedOption = Exclude<keyof ImageOptionValues, 'extra'>;
type Fields = { readonly [Name in NamedOption as (typeof FIELDS)[Name]]?: ImageOptionValues[Name] };

/** The options of a validated request; absent ones are null, and the default format is png. */
export function optionsOf(fields: Fields): ImageOptionValues {
  const given = Object.entries(FIELDS).map(([name, field]) => [name, wellFormed(fields[field] ?? null)] as const);
  return {
    ...(Object.fromEntries(given) as unknown as ImageOptionValues),
    outputFormat: fields.output_format ?? 'png',
  };
}

/** A task's options, for an adapter. */
export function requestedOptions(options: ImageOptionValues): RequestedOptions {
  const names = [...Object.keys(FIELDS), 'extra'] as (keyof ImageOptionValues)[];
  return Object.fromEntries(names.map((name) => [name, options[name] ?? undefined])) as unknown as RequestedOptions;
}

/** Replaces unpaired surrogates, which can't be stored, with the replacement character, as UTF-8 encoders do. */
export function wellFormed<T>(value: T): T | string {
  return typeof value === 'string' ? Buffer.from(value, 'utf8').toString('utf8') : value;
}

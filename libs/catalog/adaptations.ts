import type { ExtraValues } from '#contract/extra-fields.js';
import { sizeOfPixels } from '#contract/pixel-table.js';
import { DESCRIPTORS } from '#providers/descriptors.js';
import { gridSize, sizeOf, textOfSize } from '#providers/offered-size.js';
import type { SupportedOptions } from '#providers/provider-descriptor.js';
import type { Provider } from '#providers/provider-entry.js';
import type { Catalog, ModelEntry, Route } from './catalog.js';

/** The parts of a request that decide whether a route can serve it unchanged. */
export interface RequestedImage {
  readonly action: 'generation' | 'edit';
  /** Exact size of the result in pixels; null = the provider chooses. */
  readonly pixels: { readonly width: number; readonly height: number } | null;
  readonly quality: string | null;
  readonly moderation: string | null;
  readonly inputFidelity: string | null;
  readonly complexity?: string | null | undefined;
  readonly frameCount?: number | null | undefined;
  readonly frameDurationMs?: number | null | undefined;
  readonly extra?: ExtraValues | undefined;
  readonly background: string | null;
  /** Number of reference images. */
  readonly images: number;
  readonly mask: boolean;
  readonly markup?: boolean | undefined;
  /** Number of images to generate; absent = one. */
  readonly n?: number | undefined;
}

/** Something that a route would change or omit, and the field that requests it. */
export interface Adaptation {
  readonly param: string;
  /** A sentence for callers. */
  readonly what: string;
}

/** Older quality names, which current models don't know. */
const OLD_QUALITIES: readonly (string | null)[] = ['standard', 'hd'];

/**
 * Lists what a route would have to change or omit in a request; empty if it can do exactly what was requested. A strict
 * task may only use routes for which this is empty.
 */
export function adaptationsFor(route: Route, provider: Provider | undefined, ask: RequestedImage): Adaptation[] {
  const found: Adaptation[] = [];
  const add = (param: string, what: string): void => void found.push({ param, what });
  const size = ask.pixels && `${ask.pixels.width}x${ask.pixels.height}`;
  const references = ask.action === 'edit' ? 'images' : 'image_urls';
  const takes = provider && DESCRIPTORS[provider.type]?.takes;
  if (size !== null && !makesPixels(size, route.sizes, takes)) {
    add(
      'size',
      `An image of ${size} pixels is only possible by resizing one of another size: ${sizeRule(route.sizes, takes)}.`,
    );
  }
  if (ask.images > 0 && !route.edits) add(references, 'The reference images would be ignored.');
  else if (ask.images > route.images) add(references, `Only ${route.images} reference images would be used.`);
  if (ask.mask && !route.masks) add('mask', 'The mask would be ignored.');
  if (ask.markup === true && !route.markup) add('markup', 'The markup would be ignored.');
  const { n = 1 } = ask;
  if (n > route.maxN) add('n', `Only ${route.maxN} of ${n} images would be generated.`);
  if (takes === undefined || provider === undefined) return found;
  if (size !== null && takes.size === 'ratio') add('size', 'Only the aspect ratio of the size would be requested.');
  return [...found, ...optionsLeftOut(takes, provider, ask)];
}

/** Whether any route of the model sends a field of its `extra` to its provider. */
export function sendsExtra({ ranks }: ModelEntry, { providers }: Catalog, name: string, withImages: boolean): boolean {
  return ranks.flat().some((route) => {
    const provider = providers.get(route.provider);
    return provider !== undefined && DESCRIPTORS[provider.type]?.takes.extra(name, provider.options, withImages);
  });
}

/**
 * Whether an image of exactly this size can be requested. Ratio-only providers get their own adaptation, so they count.
 */
function makesPixels(
  size: string,
  offered: readonly string[] | undefined,
  takes: SupportedOptions | undefined,
): boolean {
  if (offered !== undefined && takes?.routeSizes !== false) return offered.includes(size);
  if (takes === undefined || takes.size === 'ratio') return true;
  if (takes.size === 'table') return sizeOfPixels(size) !== undefined;
  return textOfSize(gridSize(sizeOf(size), takes.size)) === size;
}

/** The rule that a size which can't be requested breaks, as part of a sentence. */
function sizeRule(offered: readonly string[] | undefined, takes: SupportedOptions | undefined): string {
  if (offered !== undefined && takes?.routeSizes !== false) return `the size must be one of ${offered.join(', ')}`;
  if (takes === undefined || typeof takes.size === 'string') return 'the size must be one of the sizes of the table';
  const { step, minPixels, maxPixels } = takes.size;
  const most = Number.isFinite(maxPixels) ? `, and at most ${maxPixels}` : '';
  return `edges must be multiples of ${step}, with at least ${minPixels} pixels in all${most}`;
}

/** Options that providers of this type don't take. */
function optionsLeftOut(takes: SupportedOptions, provider: Provider, ask: RequestedImage): Adaptation[] {
  const found: Adaptation[] = [];
  const addIgnored = (param: string, value: string | null, why = ''): void => {
    if (value !== null && value !== 'auto') found.push({ param, what: `${param} ${value} would be ignored${why}.` });
  };
  if (takes.quality !== 'any' && OLD_QUALITIES.includes(ask.quality)) {
    found.push({ param: 'quality', what: `The quality ${ask.quality} would be requested under another name.` });
  }
  if (takes.inputFidelity === 'never') addIgnored('input_fidelity', ask.inputFidelity);
  else if (takes.inputFidelity === 'with images' && ask.images === 0)
    addIgnored('input_fidelity', ask.inputFidelity, ', because the request has no images');
  if (!takes.complexity) addIgnored('complexity', ask.complexity ?? null);
  for (const [name, value] of Object.entries(ask.extra ?? {})) {
    if (!takes.extra(name, provider.options, ask.images > 0))
      found.push({ param: name, what: `${name} ${value} would be ignored.` });
  }
  if (!takes.frames) {
    addIgnored('frame_count', ask.frameCount?.toString() ?? null);
    addIgnored('frame_duration_ms', ask.frameDurationMs?.toString() ?? null);
  }
  if (!takes.transparency && ask.background === 'transparent') addIgnored('background', ask.background);
  if (takes.quality === 'none') addIgnored('quality', ask.quality);
  if (takes.moderation === 'never') addIgnored('moderation', ask.moderation);
  else if (takes.moderation === 'without images' && ask.images > 0)
    addIgnored('moderation', ask.moderation, ', because the request has images');
  return found;
}

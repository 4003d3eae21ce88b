import type { ProviderEntry, Route } from './catalogue.js';

/** What of a request decides whether a route can do it as it is. */
export interface AskedImage {
  readonly action: 'generation' | 'edit';
  /** Exact pixels to deliver; null = the provider chooses. */
  readonly pixels: { readonly width: number; readonly height: number } | null;
  readonly quality: string | null;
  readonly moderation: string | null;
  readonly inputFidelity: string | null;
  /** How many reference images there are. */
  readonly images: number;
  readonly mask: boolean;
}

/** Something that a route could do only in another way, or not at all, and the field that asks for it. */
export interface Adaptation {
  readonly param: string;
  /** In plain words. */
  readonly what: string;
}

/** Older names of qualities, which today's models don't know. */
const OLD_QUALITIES: readonly (string | null)[] = ['standard', 'hd'];

/**
 * What of a request would have to be adapted or left out at a route; empty when it can do exactly that. A strict task
 * may only be given to a route for which this is empty.
 */
export function adaptationsFor(route: Route, provider: ProviderEntry | undefined, ask: AskedImage): Adaptation[] {
  const found: Adaptation[] = [];
  const add = (param: string, what: string): void => void found.push({ param, what });
  const size = ask.pixels && `${ask.pixels.width}x${ask.pixels.height}`;
  const references = ask.action === 'edit' ? 'images' : 'image_urls';
  if (size !== null && route.sizes !== undefined && !route.sizes.includes(size)) {
    add('size', `A picture of ${size} pixels can only be had by changing one of another size.`);
  }
  if (ask.images > 0 && !route.edits) add(references, 'Reference images would be ignored.');
  else if (ask.images > route.images) add(references, `Only ${route.images} reference images would be used.`);
  if (ask.mask && !route.masks) add('mask', 'The mask would be ignored.');
  if (provider?.type !== 'openai') return found;
  if (OLD_QUALITIES.includes(ask.quality))
    add('quality', `The quality ${ask.quality} would be asked for by another name.`);
  if (ask.moderation !== null && ask.images > 0)
    add('moderation', 'moderation would be left out, as there are images.');
  if (ask.inputFidelity !== null && ask.images === 0) {
    add('input_fidelity', 'input_fidelity would be left out, as there are no images.');
  }
  return found;
}

import type { Choices } from './settings.ts';

/** What was painted over the first reference image: the area to change, or drawing that guides the change. */
export interface Overlay {
  readonly kind: 'mask' | 'markup';
  /** A PNG of the image's size. */
  readonly image: Blob;
}

/** What can be painted for a model. */
export function overlayKinds({ masks, markup }: Choices): Overlay['kind'][] {
  return [...(masks ? (['mask'] as const) : []), ...(markup ? (['markup'] as const) : [])];
}

/** What is sent of it with these files: nothing that the model does not take. */
export function overlayFor(choices: Choices, files: readonly File[], overlay: Overlay | null): Overlay | null {
  return overlay !== null && files.length > 0 && overlayKinds(choices).includes(overlay.kind) ? overlay : null;
}

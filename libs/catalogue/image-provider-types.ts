import type { ProviderType } from './catalogue.js';

/** Types that make pictures: each has a line in providers/make-provider.ts. */
export const IMAGE_PROVIDER_TYPES = ['sandbox', 'openai'] as const satisfies readonly ProviderType[];

export type ImageProviderType = (typeof IMAGE_PROVIDER_TYPES)[number];

/** Whether an image model may be routed to a provider of this type. */
export function makesImages(type: ProviderType): type is ImageProviderType {
  return (IMAGE_PROVIDER_TYPES as readonly ProviderType[]).includes(type);
}

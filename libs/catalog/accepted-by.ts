import type { AcceptedValues } from '#contract/accepted-values.js';
import type { ProviderDescriptor } from '#providers/provider-descriptor.js';
import type { ModelSource } from './catalog-schema.js';

/** What a model accepts: what its entry says, and for the rest what any of its providers does by default. */
export function acceptedBy(entry: ModelSource, providers: readonly ProviderDescriptor[]): AcceptedValues {
  const { accepts = {} } = entry;
  const usual = providers.map((provider) => provider.accepts);
  const anyOf = <T>(listOf: (values: AcceptedValues) => readonly T[]): T[] => [...new Set(usual.flatMap(listOf))];
  return {
    qualities: accepts.qualities ?? anyOf(({ qualities }) => qualities),
    editQualities: accepts.edit_qualities ?? accepts.qualities ?? anyOf(({ editQualities }) => editQualities),
    outputFormats: accepts.output_formats ?? anyOf(({ outputFormats }) => outputFormats),
    sizes: accepts.sizes ?? anyOf(({ sizes }) => sizes),
    pixelSizes: accepts.pixel_sizes ?? usual.some(({ pixelSizes }) => pixelSizes),
    maxN: accepts.max_n ?? Math.max(1, ...usual.map(({ maxN }) => maxN)),
  };
}

/** Priced whether or not they are accepted: what older names of qualities are billed as. */
const USUAL_PRICES = ['auto', 'low', 'medium', 'high'];

/** The first quality with a price that no request can have. */
export function uselessPrice(
  { qualities, editQualities }: AcceptedValues,
  perImage: Readonly<Record<string, number | Readonly<Record<string, number>>>>,
): string | undefined {
  const useful = [...USUAL_PRICES, ...qualities, ...editQualities];
  const priced = Object.values(perImage).flatMap((price) => (typeof price === 'number' ? [] : Object.keys(price)));
  return priced.find((quality) => !useful.includes(quality));
}

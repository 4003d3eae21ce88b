import type { AcceptedValues } from '#contract/accepted-values.js';
import type { ProviderDescriptor } from '#providers/provider-descriptor.js';
import type { ModelSource } from './catalog-schema.js';

/**
 * The values that a model accepts: those of its entry, and for the rest everything that any of its providers accepts by
 * default.
 */
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
    complexities: accepts.complexities ?? anyOf(({ complexities }) => complexities),
    inputFidelities: accepts.input_fidelities ?? anyOf(({ inputFidelities }) => inputFidelities),
  };
}

/** Always priced, whether accepted or not, because requests with older quality names are billed at these. */
const USUAL_PRICES = ['auto', 'low', 'medium', 'high'];

/** The first quality that has a price but that no request can have. */
export function unusedPrice(
  { qualities, editQualities }: AcceptedValues,
  perImage: Readonly<Record<string, number | Readonly<Record<string, number>>>>,
): string | undefined {
  const useful = [...USUAL_PRICES, ...qualities, ...editQualities];
  const priced = Object.values(perImage).flatMap((price) => (typeof price === 'number' ? [] : Object.keys(price)));
  return priced.find((quality) => !useful.includes(quality));
}

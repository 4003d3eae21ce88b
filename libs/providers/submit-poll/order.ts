import type { ProviderImageRequest } from '../image-provider.js';
import { knownQuality } from '../known-quality.js';
import { warnIgnored, warnUnsupported, NO_PARTIALS } from '../ignored-options.js';
import { ProviderError } from '../provider-error.js';
import type { Dialect, ModelOption } from './dialect.js';

/**
 * The fields of a job besides its images, and warnings. Deterministic, because it is built again when a job is resumed.
 */
export interface Order {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly size: string;
  readonly warnings: readonly string[];
}

/** Translates a request to a job in the vendor's terms. */
export function orderFor(request: ProviderImageRequest, dialect: Dialect, accepts: readonly ModelOption[]): Order {
  const warnings: string[] = [];
  const { width, height } = request;
  const wanted = width === undefined || height === undefined ? undefined : { width, height };
  const { fields, size } = dialect.sizeFor(request.model, wanted, request.squareEdge);
  const optional = {
    quality: accepts.includes('quality')
      ? knownQuality(request.quality, warnings)
      : warnIgnored('quality', request.quality, warnings),
    moderation: accepts.includes('moderation')
      ? request.moderation
      : warnIgnored('moderation', request.moderation, warnings),
  };
  warnIgnored('input_fidelity', request.inputFidelity, warnings);
  warnUnsupported(request, warnings);
  if (request.background === 'transparent') warnIgnored('transparent background', request.background, warnings);
  if (request.partialImages > 0) warnings.push(NO_PARTIALS);
  const given = Object.entries(optional).filter(([, value]) => value !== undefined);
  return {
    fields: {
      ...request.extra,
      model: request.model,
      prompt: request.prompt,
      n: request.n,
      ...fields,
      ...Object.fromEntries(given),
    },
    size,
    warnings,
  };
}

/** Unlike options, a mask can't be omitted: the whole image would be repainted. Throws ProviderError. */
export function refuseMask({ model, mask }: ProviderImageRequest, accepts: readonly ModelOption[]): void {
  if (mask === undefined || accepts.includes('mask')) return;
  throw new ProviderError('unsupported_parameter', `The provider of ${model} does not support masks.`, {
    retryable: false,
    charged: 'no',
    param: 'mask',
  });
}

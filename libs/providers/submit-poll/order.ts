import type { ProviderImageRequest } from '../image-provider.js';
import { knownQuality } from '../known-quality.js';
import { leaveOut, NO_PARTIALS } from '../left-out.js';
import { ProviderError } from '../provider-error.js';
import type { Dialect, ModelOption } from './dialect.js';

/** What a job is asked for beside its images, and what had to be left out. The same whenever it is made. */
export interface Order {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly size: string;
  readonly warnings: readonly string[];
}

/** One job in the vendor's words. */
export function orderFor(request: ProviderImageRequest, dialect: Dialect, accepts: readonly ModelOption[]): Order {
  const warnings: string[] = [];
  const { width, height } = request;
  const wanted = width === undefined || height === undefined ? undefined : { width, height };
  const { fields, size } = dialect.sizeFor(request.model, wanted, request.squareEdge);
  const optional = {
    quality: accepts.includes('quality')
      ? knownQuality(request.quality, warnings)
      : leaveOut('quality', request.quality, warnings),
    moderation: accepts.includes('moderation')
      ? request.moderation
      : leaveOut('moderation', request.moderation, warnings),
  };
  leaveOut('input_fidelity', request.inputFidelity, warnings);
  if (request.background === 'transparent') leaveOut('transparent background', request.background, warnings);
  if (request.partialImages > 0) warnings.push(NO_PARTIALS);
  const given = Object.entries(optional).filter(([, value]) => value !== undefined);
  return {
    fields: { model: request.model, prompt: request.prompt, n: request.n, ...fields, ...Object.fromEntries(given) },
    size,
    warnings,
  };
}

/** A mask can't be left out like an option: the whole image would be generated anew. Throws ProviderError. */
export function refuseMask({ model, mask }: ProviderImageRequest, accepts: readonly ModelOption[]): void {
  if (mask === undefined || accepts.includes('mask')) return;
  throw new ProviderError('unsupported_parameter', `The provider of ${model} takes no mask.`, {
    retryable: false,
    charged: 'no',
    param: 'mask',
  });
}

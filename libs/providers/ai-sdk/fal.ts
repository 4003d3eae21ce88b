import { createFal } from '@ai-sdk/fal';
import { textAt, valueAt } from '../http/json-value.js';
import type { ProviderImageRequest } from '../image-provider.js';
import { FREE_SIZES, gridSize, offeredSize, sizeOf, textOfSize, type Size } from '../offered-size.js';
import type { LibraryVendor, ModelInput } from './library-vendor.js';
import { cannotTake, fileOf, warnIgnoredOptions, wantedPixels } from './order.js';

/** https://fal.ai/docs: synchronous requests, image models, errors. One call returns the image's URL. */
export const fal: LibraryVendor = {
  maskForm: 'white',
  keyHeaders: (secret) => ({ authorization: `Key ${secret}` }),
  model: (name, baseURL, fetch) => createFal({ apiKey: '-', baseURL, fetch }).image(name),
  order: (request, takes) => {
    refuseImages(request, takes);
    const warnings: string[] = [];
    warnIgnoredOptions(request, warnings);
    const wanted = wantedPixels(request);
    const size = wanted === undefined ? undefined : textOfSize(askable(wanted, request.sizes));
    const options = {
      outputFormat: request.outputFormat === 'jpeg' ? 'jpeg' : 'png',
      ...(takes.includes('images') ? { useMultipleImages: true } : {}),
    };
    const call = {
      ...(size === undefined ? {} : { size: size as `${number}x${number}` }),
      files: request.images.map(fileOf),
      ...(request.mask === undefined ? {} : { mask: fileOf(request.mask) }),
      providerOptions: { fal: options },
    };
    return { call, size: size ?? 'auto', warnings };
  },
  refusal: (_status, body) => {
    const type = textAt(body, 'detail', 0, 'type');
    const place = valueAt(body, 'detail', 0, 'loc');
    const param: unknown = Array.isArray(place) ? place.at(-1) : undefined;
    if (type !== undefined) return { fields: { code: type, param: typeof param === 'string' ? param : undefined } };
    const message = textAt(body, 'detail') ?? textAt(body, 'message') ?? textAt(body, 'error', 'message');
    return { fields: message === undefined ? undefined : {} };
  },
  isBlocked: () => false,
  isWithheld: ({ providerMetadata }, index) => valueAt(providerMetadata, 'fal', 'images', index, 'nsfw') === true,
};

/** Models ignore unknown fields, so the entry defines which inputs each model takes. */
function refuseImages({ model, images, mask }: ProviderImageRequest, takes: readonly ModelInput[]): void {
  const most = takes.includes('images') ? Infinity : takes.includes('image') ? 1 : 0;
  if (images.length > most) {
    throw cannotTake(
      'image',
      `The provider of ${model} accepts ${most === 1 ? 'only one reference image' : 'no reference images'}.`,
    );
  }
  if (mask !== undefined && !takes.includes('mask'))
    throw cannotTake('mask', `The provider of ${model} does not support masks.`);
}

function askable(wanted: Size, offered: readonly string[] | undefined): Size {
  // A step of 16 suits every model that needs one. Few models do well at sizes far below the usual ones.
  return offered === undefined ? gridSize(wanted, FREE_SIZES) : offeredSize(wanted, offered.map(sizeOf));
}

import { Injectable } from '@nestjs/common';
import { CatalogSource } from '#catalog/catalog-source.js';
import { findModel, hasEnded, modelOf, servedNames, type Catalog, type ModelEntry } from '#catalog/catalog.js';
import { endedText } from '#catalog/ending-models.js';
import { AppError } from '#contract/app-error.js';
import { DEFAULT_IMAGE_MODEL } from '#contract/image-request.js';
import { quoteImage, type PricedOptions, type TaskCost } from '#billing/quote.js';

/** The image models of the catalog, and what their images cost. */
@Injectable()
export class ImageModels {
  constructor(private readonly source: CatalogSource) {}

  /** Changes when an operator edits it: one request reads it once. */
  get catalog(): Catalog {
    return this.source.current;
  }

  /** Throws AppError `model_not_found` for an unknown model; a value that is not a string is left to other rules. */
  modelOf({ model }: { readonly model?: unknown }): ModelEntry | undefined {
    return servedModel(this.catalog, model);
  }

  /** The current cost of such an image; null when it is free. */
  costOf(model: string, options: PricedOptions): TaskCost | null {
    const entry = findModel(this.catalog, model);
    // The model was removed after validation: the price is unknown, and the task itself will report it.
    return entry === undefined
      ? { reserved: null, currency: this.catalog.currency }
      : quoteImage(this.catalog, entry, options, new Date());
  }
}

/** The image model of that name; undefined if there is none, or the value is no name. */
export function namedModel(catalog: Catalog, name: unknown = DEFAULT_IMAGE_MODEL): ModelEntry | undefined {
  return typeof name === 'string' ? modelOf(catalog, 'image', name) : undefined;
}

/** Like `namedModel`; throws AppError `model_not_found` for a name that no image model has, and for one that has ended. */
export function servedModel(catalog: Catalog, name: unknown = DEFAULT_IMAGE_MODEL): ModelEntry | undefined {
  const now = new Date();
  const model = namedModel(catalog, name);
  if (typeof name !== 'string' || (model !== undefined && !hasEnded(model.end, now))) return model;
  const served = servedNames(catalog, 'image', now).join(', ');
  const text =
    modelOf(catalog, 'chat', name) === undefined
      ? (endedText(catalog, name, now) ?? `The model does not exist; available: ${served}`)
      : `The model only supports chats (/v1/chat/completions); image models: ${served}`;
  throw new AppError('model_not_found', text, { param: 'model' });
}

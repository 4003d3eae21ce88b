import { Injectable } from '@nestjs/common';
import { CatalogSource } from '#catalog/catalog-source.js';
import { adaptationsFor } from '#catalog/adaptations.js';
import { findModel, imageModelsOf, modelOf, type ModelEntry } from '#catalog/catalog.js';
import { BASE_VALUES } from '#contract/accepted-values.js';
import { AppError } from '#contract/app-error.js';
import { DEFAULT_IMAGE_MODEL } from '#contract/image-request.js';
import type { ImageSize } from '#contract/pixel-table.js';
import { whyIgnored } from '#contract/request-fields.js';
import { EgressConfig } from '#egress/egress.config.js';
import { publicUrlProblem } from '#egress/public-url.js';
import { notConverted } from '#images/conversion.js';
import { quoteImage, type PricedOptions, type TaskCost } from '#billing/quote.js';
import type { TaskCommand } from '#tasks/row/task.js';

interface NamedModel {
  readonly model?: unknown;
}

/** Rules for image requests that depend on the catalog and settings. */
@Injectable()
export class RequestRules {
  constructor(
    private readonly egress: EgressConfig,
    private readonly source: CatalogSource,
  ) {}

  /** Throws AppError `model_not_found` for an unknown model; a value that is not a string is left to other rules. */
  modelOf({ model: name = DEFAULT_IMAGE_MODEL }: NamedModel): ModelEntry | undefined {
    if (typeof name !== 'string') return undefined;
    const model = modelOf(this.source.current, 'image', name);
    if (model !== undefined) return model;
    const served = imageModelsOf(this.source.current).join(', ');
    const text =
      modelOf(this.source.current, 'chat', name) === undefined
        ? `The model does not exist; available: ${served}`
        : `The model only supports chats (/v1/chat/completions); image models: ${served}`;
    throw new AppError('model_not_found', text, { param: 'model' });
  }

  /** The model's sizes, apart from pixel sizes; the contract's sizes for an unknown model. */
  sizesOf({ model = DEFAULT_IMAGE_MODEL }: NamedModel): readonly ImageSize[] {
    const found = typeof model === 'string' ? modelOf(this.source.current, 'image', model) : undefined;
    return (found?.accepts ?? BASE_VALUES).sizes;
  }

  /** Throws AppError `invalid_value` unless it is a URL that webhooks may be sent to. */
  assertCallback(callbackUrl: string | undefined): void {
    const problem = callbackUrl && publicUrlProblem(callbackUrl, this.egress, { httpsOnly: true });
    if (problem) throw new AppError('invalid_value', problem, { param: 'callback_url' });
  }

  /**
   * Throws AppError `unsupported_parameter` when a strict request has unknown fields, or none of the model's routes can
   * fulfill it exactly; `invalid_value` when that is because of its size, `unsupported_image_media_type` when one of its
   * images would be converted.
   */
  assertExact({ model, options, action, inputs, mask }: TaskCommand): void {
    if (options.strict !== true) return;
    const [unknown] = options.ignored ?? [];
    if (unknown !== undefined) throw notExact(`${whyIgnored(unknown)}.`, unknown);
    for (const input of inputs) {
      if (input.kind !== 'object' || input.convert === undefined) continue;
      const { code, message } = notConverted(input.convert);
      throw new AppError(code, message, { param: input.param });
    }
    const catalog = this.source.current;
    const ask = { ...options, action, images: inputs.length, mask: mask !== null };
    const routes = findModel(catalog, model)?.ranks.flat() ?? [];
    const found = routes.map((route) => adaptationsFor(route, catalog.providers.get(route.provider), ask));
    // Reports the problem of the route with the fewest problems.
    const [fewest] = found.sort((a, b) => a.length - b.length);
    if (fewest?.[0] !== undefined) throw notExact(fewest[0].what, fewest[0].param);
  }

  /** The current cost of such an image; null when it is free. */
  costOf(model: string, options: PricedOptions): TaskCost | null {
    const catalog = this.source.current;
    const entry = findModel(catalog, model);
    // The model was removed after validation: the price is unknown, and the task itself will report it.
    return entry === undefined
      ? { reserved: null, currency: catalog.currency }
      : quoteImage(catalog, entry, options, new Date());
  }
}

function notExact(what: string, param: string): AppError {
  const text = `${what} With strict: true, nothing is adapted or ignored: change the field, or omit strict.`;
  return new AppError(param === 'size' ? 'invalid_value' : 'unsupported_parameter', text, { param });
}

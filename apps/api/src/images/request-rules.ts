import { Inject, Injectable } from '@nestjs/common';
import { CatalogueSource } from '#catalogue/catalogue-source.js';
import { imageModelsOf } from '#catalogue/catalogue.js';
import { AppError } from '#contract/app-error.js';
import { DEFAULT_IMAGE_MODEL } from '#contract/image-request.js';
import { EgressConfig } from '#egress/egress.config.js';

/** What an image request is checked against besides its own form. */
@Injectable()
export class RequestRules {
  constructor(
    @Inject(EgressConfig) readonly egress: EgressConfig,
    @Inject(CatalogueSource) private readonly source: CatalogueSource,
  ) {}

  /** Throws AppError `model_not_found` unless the model is a served one; what is no text is left to other rules. */
  assertModel({ model = DEFAULT_IMAGE_MODEL }: { model?: unknown }): void {
    const served = imageModelsOf(this.source.current);
    if (typeof model !== 'string' || served.includes(model)) return;
    throw new AppError('model_not_found', `The model does not exist; available: ${served.join(', ')}`, {
      param: 'model',
    });
  }
}

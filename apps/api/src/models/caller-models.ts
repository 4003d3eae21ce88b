import { Injectable } from '@nestjs/common';
import { hasEnded } from '#catalog/catalog.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import type { ModelView } from '#contract/model-view.js';
import { mayUseModel, type Caller } from '../auth/caller.js';
import { ApiConfig } from '../common/api.config.js';
import { LimitsConfig } from '../limits/limits.config.js';
import { modelViewOf } from './model-view-of.js';

/** The models that a caller's key may use now. */
@Injectable()
export class CallerModels {
  constructor(
    private readonly source: CatalogSource,
    private readonly limits: LimitsConfig,
    private readonly config: ApiConfig,
  ) {}

  of(caller: Caller): ModelView[] {
    const catalog = this.source.current;
    const now = new Date();
    const models = [...catalog.models.values()].filter(
      (model) => mayUseModel(caller, model) && !hasEnded(model.end, now),
    );
    const { submitsPerMinute, chatsPerMinute } = this.limits;
    const pixelSizes = caller.allowPixelSize ?? this.config.allowPixelSize;
    const terms = { submitsPerMinute, chatsPerMinute, pixelSizes };
    return models.map((model) => modelViewOf(model, catalog, terms, now));
  }
}

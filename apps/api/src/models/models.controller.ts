import { Controller, Get, Param } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import { findModel, hasEnded } from '#catalog/catalog.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { endedText } from '#catalog/ending-models.js';
import { AppError } from '#contract/app-error.js';
import type { ModelListResponse, ModelView } from '#contract/model-view.js';
import { Caller } from '../auth/caller.decorator.js';
import { mayUseModel } from '../auth/caller.js';
import { ApiConfig } from '../common/api.config.js';
import { ModelIdParam } from '../common/params.js';
import { LimitsConfig } from '../limits/limits.config.js';
import { modelViewOf } from './model-view-of.js';
import { DescribeModel, DescribeModelList } from './models.openapi.js';

const FOR_EVERY_KEY = RouteConfig({ scope: 'any' });

/** Lists the models that the caller's key may use. */
@ApiTags('Models')
@Controller('v1/models')
export class ModelsController {
  constructor(
    private readonly source: CatalogSource,
    private readonly limits: LimitsConfig,
    private readonly config: ApiConfig,
  ) {}

  @Get()
  @FOR_EVERY_KEY
  @DescribeModelList()
  list(@Caller() caller: Caller): ModelListResponse {
    return { object: 'list', data: this.modelsOf(caller) };
  }

  @Get(':modelId')
  @FOR_EVERY_KEY
  @DescribeModel()
  find(@Caller() caller: Caller, @Param() { modelId }: ModelIdParam): ModelView {
    const catalog = this.source.current;
    const named = findModel(catalog, modelId);
    const model = this.modelsOf(caller).find(({ id }) => id === named?.name);
    if (model !== undefined) return model;
    const isHidden = named !== undefined && !mayUseModel(caller, named);
    const ended = isHidden ? undefined : endedText(catalog, modelId, new Date());
    throw new AppError('unknown_model', ended ?? 'The model does not exist.', { param: 'model' });
  }

  private modelsOf(caller: Caller): ModelView[] {
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

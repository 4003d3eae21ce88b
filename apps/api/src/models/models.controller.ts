import { Controller, Get, Param } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import { findModel } from '#catalog/catalog.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { endedText } from '#catalog/ending-models.js';
import { AppError } from '#contract/app-error.js';
import type { ModelListResponse, ModelView } from '#contract/model-view.js';
import { Caller } from '../auth/caller.decorator.js';
import { mayUseModel } from '../auth/caller.js';
import { ModelIdParam } from '../common/params.js';
import { CallerModels } from './caller-models.js';
import { DescribeModel, DescribeModelList } from './models.openapi.js';

const FOR_EVERY_KEY = RouteConfig({ scope: 'any' });

/** Lists the models that the caller's key may use. */
@ApiTags('Models')
@Controller('v1/models')
export class ModelsController {
  constructor(
    private readonly source: CatalogSource,
    private readonly models: CallerModels,
  ) {}

  @Get()
  @FOR_EVERY_KEY
  @DescribeModelList()
  list(@Caller() caller: Caller): ModelListResponse {
    return { object: 'list', data: this.models.of(caller) };
  }

  @Get(':modelId')
  @FOR_EVERY_KEY
  @DescribeModel()
  find(@Caller() caller: Caller, @Param() { modelId }: ModelIdParam): ModelView {
    const catalog = this.source.current;
    const named = findModel(catalog, modelId);
    const model = this.models.of(caller).find(({ id }) => id === named?.name);
    if (model !== undefined) return model;
    const isHidden = named !== undefined && !mayUseModel(caller, named);
    const ended = isHidden ? undefined : endedText(catalog, modelId, new Date());
    throw new AppError('unknown_model', ended ?? 'The model does not exist.', { param: 'model' });
  }
}

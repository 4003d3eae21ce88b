import { Controller, Get, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CatalogueSource } from '#catalogue/catalogue-source.js';
import { AppError } from '#contract/app-error.js';
import type { ModelView } from '#contract/model-view.js';
import { callerOf } from '../auth/api-key.guard.js';
import { mayUseModel } from '../auth/caller.js';
import { LimitsConfig } from '../limits/limits.config.js';
import { modelViewOf } from './model-view-of.js';
import { DescribeModel, DescribeModelList } from './models.openapi.js';

const FOR_EVERY_KEY = RouteConfig({ scope: 'any' });

/** Lists what the caller's key may use. */
@ApiTags('Models')
@Controller('v1/models')
export class ModelsController {
  constructor(
    private readonly source: CatalogueSource,
    private readonly limits: LimitsConfig,
  ) {}

  @Get()
  @FOR_EVERY_KEY
  @DescribeModelList()
  list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    void reply.send({ object: 'list', data: this.modelsOf(request) });
  }

  @Get(':modelId')
  @FOR_EVERY_KEY
  @DescribeModel()
  find(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const { modelId } = request.params as { modelId: string };
    const model = this.modelsOf(request).find(({ id }) => id === modelId);
    if (model === undefined) throw new AppError('unknown_model', 'The model does not exist.', { param: 'model' });
    void reply.send(model);
  }

  private modelsOf(request: FastifyRequest): ModelView[] {
    const caller = callerOf(request);
    const catalogue = this.source.current;
    const models = [...catalogue.models.values()].filter(({ name }) => mayUseModel(caller, name));
    return models.map((model) => modelViewOf(model, catalogue, this.limits, new Date()));
  }
}

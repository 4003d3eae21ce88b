import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { MODELS, type ModelView } from '#contract/model-view.js';
import { callerOf } from '../auth/api-key.guard.js';
import { mayUseModel } from '../auth/caller.js';
import { DescribeModel, DescribeModelList } from './models.openapi.js';

/** Lists what the caller's key may use. */
@ApiTags('Models')
@Controller('v1/models')
export class ModelsController {
  @Get()
  @DescribeModelList()
  list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    void reply.send({ object: 'list', data: modelsOf(request) });
  }

  @Get(':modelId')
  @DescribeModel()
  find(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const { modelId } = request.params as { modelId: string };
    const model = modelsOf(request).find(({ id }) => id === modelId);
    if (model === undefined) throw new AppError('unknown_model', 'The model does not exist.', { param: 'model' });
    void reply.send(model);
  }
}

function modelsOf(request: FastifyRequest): ModelView[] {
  const caller = callerOf(request);
  return MODELS.filter(({ id }) => mayUseModel(caller, id));
}

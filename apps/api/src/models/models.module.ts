import { Module } from '@nestjs/common';
import { CallerModels } from './caller-models.js';
import { ModelsController } from './models.controller.js';

/** `/v1/models`. */
@Module({ controllers: [ModelsController], providers: [CallerModels], exports: [CallerModels] })
export class ModelsModule {}

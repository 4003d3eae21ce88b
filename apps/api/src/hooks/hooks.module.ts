import { Module } from '@nestjs/common';
import { EndUserStatesModule } from '#accounts/end-user-states.module.js';
import { LimitsModule } from '../limits/limits.module.js';
import { ProviderHooksController } from './provider-hooks.controller.js';

/** Webhooks of providers. */
@Module({ imports: [EndUserStatesModule, LimitsModule], controllers: [ProviderHooksController] })
export class HooksModule {}

import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { RefusedCallsController } from './refused-calls.controller.js';

/** The log of refused calls. */
@Module({ imports: [AccountsModule], controllers: [RefusedCallsController] })
export class RefusalsModule {}

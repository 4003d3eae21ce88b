import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { UsageController } from './usage.controller.js';

/** What an account has drawn, and what that cost. */
@Module({ imports: [DatabaseModule], controllers: [UsageController] })
export class UsageModule {}

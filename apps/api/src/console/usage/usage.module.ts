import { Module } from '@nestjs/common';
import { TasksModule } from '#tasks/tasks.module.js';
import { UsageController } from './usage.controller.js';

/** What an account has generated, and what that cost. */
@Module({ imports: [TasksModule], controllers: [UsageController] })
export class UsageModule {}

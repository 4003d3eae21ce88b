import { Module } from '@nestjs/common';
import { WaitingModule } from '#answers/waiting.module.js';
import { AccountsModule } from '#accounts/accounts.module.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { ImagesModule } from '../../images/images.module.js';
import { CommonModule } from '../../common/common.module.js';
import { ConsoleTasksModule } from '../tasks/tasks.module.js';
import { ConsoleQuotes } from './console-quotes.js';
import { PlaygroundController } from './playground.controller.js';
import { PlaygroundModels } from './playground-models.js';

/** Images that are ordered in the console. */
@Module({
  imports: [AccountsModule, CommonModule, ConsoleTasksModule, ImagesModule, TasksModule, WaitingModule],
  controllers: [PlaygroundController],
  providers: [ConsoleQuotes, PlaygroundModels],
})
export class PlaygroundModule {}

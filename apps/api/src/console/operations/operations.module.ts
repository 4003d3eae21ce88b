import { Module } from '@nestjs/common';
import { WaitingModule } from '#answers/waiting.module.js';
import { RoutingModule } from '#routing/routing.module.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { AccountsModule } from '#accounts/accounts.module.js';
import { ImagesModule } from '../../images/images.module.js';
import { ConsoleTasksModule } from '../tasks/tasks.module.js';
import { CatalogController } from './catalog.controller.js';
import { CheckConnection } from './check-connection.js';
import { FailuresController } from './failures.controller.js';
import { OperationController } from './operation.controller.js';
import { Operation } from './operation.js';
import { ProviderStates } from './provider-states.js';
import { ProviderTest } from './provider-test.js';

/**
 * Pages about the whole installation, for operators: providers, queue, failures, and the catalog. Needs the
 * CatalogModule.
 */
@Module({
  imports: [ConsoleTasksModule, ImagesModule, AccountsModule, RoutingModule, TasksModule, WaitingModule],
  controllers: [OperationController, FailuresController, CatalogController],
  providers: [Operation, ProviderStates, ProviderTest, CheckConnection],
})
export class OperationsModule {}

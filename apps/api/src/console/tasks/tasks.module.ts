import { Module } from '@nestjs/common';
import { ErasureModule } from '#erasure/erasure.module.js';
import { WaitingModule } from '#answers/waiting.module.js';
import { StorageModule } from '#storage/storage.module.js';
import { UploadRowsModule } from '#uploads/upload-rows.module.js';
import { TasksModule, TaskListenersModule } from '#tasks/tasks.module.js';
import { LinksModule } from '../../common/links.module.js';
import { AccountsModule } from '#accounts/accounts.module.js';
import { EndUserStatesModule } from '#accounts/end-user-states.module.js';
import { BillingModule } from '#billing/billing.module.js';
import { NotificationsModule } from '#notifications/notifications.module.js';
import { AuthModule } from '../../auth/auth.module.js';
import { FilesModule } from '../../files/files.module.js';
import { ImagesModule } from '../../images/images.module.js';
import { LimitsModule } from '../../limits/limits.module.js';
import { TasksApiModule } from '../../tasks/tasks.module.js';
import { AccountTasks } from './account-tasks.js';
import { ConsoleCaller } from './console-caller.js';
import { ErasuresController } from './erasures.controller.js';
import { ImageArchive } from './image-archive.js';
import { ManyTasks } from './many-tasks.js';
import { ManyTasksController } from './many-tasks.controller.js';
import { RetryFailedTasks } from './retry-failed-tasks.js';
import { RetryTask } from './retry-task.js';
import { OwnTasks } from './own-tasks.js';
import { SavedViewsController } from './saved-views.controller.js';
import { ShownImages } from './shown-images.js';
import { ShownTasks } from './shown-tasks.js';
import { ShownWaits } from './shown-waits.js';
import { TaskInputs } from './task-inputs.js';
import { TaskInputsController } from './task-inputs.controller.js';
import { ConsoleTasksController } from './tasks.controller.js';
import { Thumbnails } from './thumbnails.js';

/** An account's tasks as its users see them, and their retries. */
@Module({
  imports: [
    ErasureModule,
    FilesModule,
    ImagesModule,
    LimitsModule,
    LinksModule,
    TaskListenersModule,
    AccountsModule,
    AuthModule,
    EndUserStatesModule,
    StorageModule,
    TasksApiModule,
    TasksModule,
    BillingModule,
    NotificationsModule,
    UploadRowsModule,
    WaitingModule,
  ],
  controllers: [
    ManyTasksController,
    ErasuresController,
    ConsoleTasksController,
    TaskInputsController,
    SavedViewsController,
  ],
  providers: [
    ...[AccountTasks, ConsoleCaller, ManyTasks, RetryFailedTasks, RetryTask],
    ...[ImageArchive, OwnTasks, ShownImages, ShownTasks, ShownWaits, TaskInputs, Thumbnails],
  ],
  exports: [ConsoleCaller, OwnTasks, RetryFailedTasks, RetryTask, ShownTasks, Thumbnails],
})
export class ConsoleTasksModule {}

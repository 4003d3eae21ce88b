import { Module } from '@nestjs/common';
import { EgressModule } from '#egress/egress.module.js';
import { JobsModule } from '#queue/queue.module.js';
import { ErasureModule } from '#erasure/erasure.module.js';
import { RoutingModule } from '#routing/routing.module.js';
import { StorageModule } from '#storage/storage.module.js';
import { TaskListenersModule, TasksModule } from '#tasks/tasks.module.js';
import { CallProvider } from './call-provider.js';
import { CreateThumbnail } from './create-thumbnail.js';
import { ImageProcessor } from './image.processor.js';
import { LeaveTask } from './leave-task.js';
import { Leases } from './leases.js';
import { LoadInputs } from './load-inputs.js';
import { OrderImage } from './order-image.js';
import { ProviderStarts } from './provider-starts.js';
import { RunTask } from './run-task.js';
import { ServiceReport } from './service-report.js';
import { SettleAttempt } from './settle-attempt.js';
import { StoreResults } from './store-results.js';
import { TaskMemory } from './task-memory.js';
import { TaskMeter } from './task-meter.js';
import { TaskProgress } from './task-progress.js';
import { ThumbnailProcessor } from './thumbnail.processor.js';

/** In the order in which a task meets them. */
const steps = [
  ImageProcessor,
  RunTask,
  OrderImage,
  LoadInputs,
  CallProvider,
  ProviderStarts,
  StoreResults,
  SettleAttempt,
  LeaveTask,
];
/** Created from finished images, when the console shows them. */
const thumbnails = [ThumbnailProcessor, CreateThumbnail];
/** What the tasks of a worker share, and what it tells others of them. */
const shared = [Leases, TaskMemory, TaskProgress, TaskMeter, ServiceReport];

/** Generates the images of tasks. Needs a ProviderRegistryModule. */
@Module({
  imports: [JobsModule, TasksModule, ErasureModule, TaskListenersModule, RoutingModule, StorageModule, EgressModule],
  providers: [...steps, ...thumbnails, ...shared],
})
export class ImagesModule {}

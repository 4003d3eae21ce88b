import { Module } from '@nestjs/common';
import { EgressModule } from '#egress/egress.module.js';
import { JobsModule } from '#queue/queue.module.js';
import { RoutingModule } from '#routing/routing.module.js';
import { StorageModule } from '#storage/storage.module.js';
import { TaskListenersModule, TasksModule } from '#tasks/tasks.module.js';
import { CallProvider } from './call-provider.js';
import { ClaimTask } from './claim-task.js';
import { CompleteTask } from './complete-task.js';
import { DeliverImage } from './deliver-image.js';
import { FinishAsOrdered } from './finish-as-ordered.js';
import { Leases } from './leases.js';
import { ImageProcessor } from './image.processor.js';
import { KeepThumbnail } from './keep-thumbnail.js';
import { LoadInputs } from './load-inputs.js';
import { OrderImage } from './order-image.js';
import { ProviderStarts } from './provider-starts.js';
import { RequeueTask } from './requeue-task.js';
import { RunImageTask } from './run-image-task.js';
import { ServiceReport } from './service-report.js';
import { SettleAttempt } from './settle-attempt.js';
import { StoreResults } from './store-results.js';
import { TaskMemory } from './task-memory.js';
import { TaskMeter } from './task-meter.js';
import { TaskProgress } from './task-progress.js';
import { ThisWorker } from './this-worker.js';
import { WorkerGauges } from './worker-gauges.js';

const claimed = [Leases, ClaimTask];
const ordered = [OrderImage, CallProvider, ProviderStarts, LoadInputs, TaskMemory, FinishAsOrdered, StoreResults];
const ended = [DeliverImage, CompleteTask, SettleAttempt, RequeueTask, KeepThumbnail];
const told = [TaskProgress, TaskMeter, ServiceReport, ThisWorker, WorkerGauges];

/** Generates the images of tasks. Needs a ProviderRegistryModule. */
@Module({
  imports: [JobsModule, TasksModule, TaskListenersModule, RoutingModule, StorageModule, EgressModule],
  providers: [ImageProcessor, RunImageTask, ...claimed, ...ordered, ...ended, ...told],
})
export class ImagesModule {}

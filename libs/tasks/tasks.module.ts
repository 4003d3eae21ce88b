import { Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { DatabaseModule } from '#database/database.module.js';
import { QueueModule } from '#queue/queue.module.js';
import { NotificationsModule } from '#notifications/notifications.module.js';
import { JOBS_REDIS, ListeningRedisModule, PRODUCER_REDIS } from '#redis/redis.module.js';
import { StorageModule } from '#storage/storage.module.js';
import { ApproveTask } from './states/approve-task.js';
import { CancelTask } from './states/cancel-task.js';
import { DeletedTasks } from './states/deleted-tasks.js';
import { DepartedCallers } from './intake/departed-callers.js';
import { DropInputs } from './retention/drop-inputs.js';
import { EqualRequests } from './intake/equal-requests.js';
import { FailedTasks } from './reading/failed-tasks.js';
import { HeldTasks } from './reading/held-tasks.js';
import { InsertTasks } from './intake/insert-tasks.js';
import { KeyedRequests } from './intake/keyed-requests.js';
import { LostCallers } from './intake/lost-callers.js';
import { QueueGauges } from './reading/queue-gauges.js';
import { QueueWait } from './reading/queue-wait.js';
import { RetractTasks } from './intake/retract-tasks.js';
import { SearchTasks } from './reading/search-tasks.js';
import { SubmitTask } from './intake/submit-task.js';
import { SweepTasks } from './states/sweep-tasks.js';
import { Sweeper } from './states/sweeper.js';
import { TaskDetails } from './reading/task-details.js';
import { ENDS_REDIS, TaskEnds } from './states/task-ends.js';
import { TaskEstimates } from './admission/task-estimates.js';
import { TaskEvents, TaskEventListener } from './states/task-events.js';
import { TaskFigures } from './reading/task-figures.js';
import { TaskIntake } from './intake/task-intake.js';
import { TaskListStore } from './reading/task-list-store.js';
import { TaskThumbnails } from './states/task-thumbnails.js';
import { TaskTransitions } from './states/task-transitions.js';
import { TaskPartials, TaskPartialsListener } from './states/task-partials.js';
import { TaskSlots } from './admission/task-slots.js';
import { TaskStore } from './reading/task-store.js';
import { ToldCosts } from './states/told-costs.js';
import { TaskPlaces } from './admission/task-places.js';

const rows = [
  TaskStore,
  TaskTransitions,
  TaskThumbnails,
  RetractTasks,
  LostCallers,
  DepartedCallers,
  ToldCosts,
  DeletedTasks,
];
/** What SubmitTask goes through. */
const intake = [TaskIntake, InsertTasks, KeyedRequests, EqualRequests];
const shown = [FailedTasks, TaskListStore, SearchTasks, TaskDetails, TaskFigures, QueueWait, HeldTasks];
const told = [TaskEvents, TaskPartials, TaskSlots, TaskEnds, DropInputs];
/** A worker tells of a task's end over the jobs' connection: BullMQ ends the job there at the same moment. */
const ends = {
  provide: ENDS_REDIS,
  inject: [PRODUCER_REDIS, { token: JOBS_REDIS, optional: true }],
  useFactory: (producer: Redis, jobs: Redis | undefined) => jobs ?? producer,
};
const accepted = [TaskEstimates, SubmitTask, CancelTask, ApproveTask];

/** The task rows and what keeps them moving. Every process that imports it runs the sweep: API and worker alike. */
@Module({
  imports: [DatabaseModule, QueueModule, StorageModule, NotificationsModule],
  providers: [...rows, ...intake, ...shown, ...told, ends, ...accepted, TaskPlaces, SweepTasks, Sweeper, QueueGauges],
  exports: [...rows, ...shown, ...told, ...accepted, DatabaseModule, QueueModule, NotificationsModule],
})
export class TasksModule {}

const listeners = [TaskEventListener, TaskPartialsListener];

/** For processes that listen to task events: workers to cancellations, the API to all events. */
@Module({ imports: [ListeningRedisModule], providers: listeners, exports: listeners })
export class TaskListenersModule {}

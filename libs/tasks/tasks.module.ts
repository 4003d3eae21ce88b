import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { QueueModule } from '#queue/queue.module.js';
import { WebhooksModule } from '#webhooks/webhooks.module.js';
import { ListeningRedisModule } from '#redis/redis.module.js';
import { Admission } from './admission.js';
import { CancelTask } from './cancel-task.js';
import { FailedTasks } from './failed-tasks.js';
import { LostCallers } from './lost-callers.js';
import { QueueGauges } from './queue-gauges.js';
import { QueueWait } from './queue-wait.js';
import { RetractTasks } from './retract-tasks.js';
import { SearchTasks } from './search-tasks.js';
import { SubmitTask } from './submit-task.js';
import { SweepTasks } from './sweep-tasks.js';
import { Sweeper } from './sweeper.js';
import { TaskDetails } from './task-details.js';
import { TaskEnds } from './task-ends.js';
import { TaskEstimates } from './task-estimates.js';
import { TaskEvents, TaskEventListener } from './task-events.js';
import { TaskFigures } from './task-figures.js';
import { TaskIntake } from './task-intake.js';
import { TaskTransitions } from './task-transitions.js';
import { TaskPartials, TaskPartialsListener } from './task-partials.js';
import { TaskSlots } from './task-slots.js';
import { TaskStore } from './task-store.js';
import { TaskTurns } from './task-turns.js';

const rows = [TaskStore, TaskIntake, TaskTransitions, RetractTasks, LostCallers];
const shown = [FailedTasks, SearchTasks, TaskDetails, TaskFigures, QueueWait];
const told = [TaskEvents, TaskPartials, TaskSlots, TaskEnds];
const accepted = [TaskEstimates, SubmitTask, CancelTask];

/** The task rows and what keeps them moving. Every process that imports it runs the sweep: API and worker alike. */
@Module({
  imports: [DatabaseModule, QueueModule, WebhooksModule],
  providers: [...rows, ...shown, ...told, ...accepted, Admission, TaskTurns, SweepTasks, Sweeper, QueueGauges],
  exports: [...rows, ...shown, ...told, ...accepted, DatabaseModule, QueueModule, WebhooksModule],
})
export class TasksModule {}

const listeners = [TaskEventListener, TaskPartialsListener];

/** For processes that listen to task events: workers to cancellations, the API to all events. */
@Module({ imports: [ListeningRedisModule], providers: listeners, exports: listeners })
export class TaskListenersModule {}

import { Module } from '@nestjs/common';
import { Database } from '#database/database.js';
import { DatabaseModule } from '#database/database.module.js';
import { FailedTasks } from '#tasks/failed-tasks.js';
import { SearchTasks } from '#tasks/search-tasks.js';
import { TaskDetails } from '#tasks/task-details.js';

const providers = [
  { provide: FailedTasks, inject: [Database], useFactory: ({ pool }: Database) => new FailedTasks(pool) },
  { provide: SearchTasks, inject: [Database], useFactory: ({ pool }: Database) => new SearchTasks(pool) },
  { provide: TaskDetails, inject: [Database], useFactory: ({ pool }: Database) => new TaskDetails(pool) },
];

/** What the console reads of tasks besides what callers get. */
@Module({ imports: [DatabaseModule], providers, exports: providers })
export class TaskStoresModule {}

import { Module } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { DatabaseModule } from '#database/database.module.js';
import { FailedTasks } from '#tasks/failed-tasks.js';
import { SearchTasks } from '#tasks/search-tasks.js';
import { TaskDetails } from '#tasks/task-details.js';

const providers = [
  { provide: FailedTasks, inject: [PrismaService], useFactory: ({ pool }: PrismaService) => new FailedTasks(pool) },
  { provide: SearchTasks, inject: [PrismaService], useFactory: ({ pool }: PrismaService) => new SearchTasks(pool) },
  { provide: TaskDetails, inject: [PrismaService], useFactory: ({ pool }: PrismaService) => new TaskDetails(pool) },
];

/** What the console reads of tasks besides what callers get. */
@Module({ imports: [DatabaseModule], providers, exports: providers })
export class TaskStoresModule {}

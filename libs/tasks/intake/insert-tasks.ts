import { Injectable } from '@nestjs/common';
import { batched } from '#database/batched.js';
import { PrismaService } from '#database/prisma.service.js';
import { insertTasks, type FoundBy, type NewTask } from '../row/insert-task.sql.js';
import { toTask } from '../row/task-columns.js';
import type { Task, TaskCommand } from '../row/task.js';

/** More would make one caller wait for many others. */
const INSERTS_AT_ONCE = 64;

/** Inserts tasks: once it returns, a task is sure to end. */
@Injectable()
export class InsertTasks {
  /** Tasks that arrive together share one statement, and one wait for the disk. */
  private readonly together = batched(
    async (tasks: readonly NewTask[]) => insertTasks(this.prisma.pool, tasks),
    INSERTS_AT_ONCE,
  );

  constructor(private readonly prisma: PrismaService) {}

  /** Always makes a row; repeated requests find it by what `foundBy` says. */
  async insert(
    command: TaskCommand,
    deadlineMs: number,
    foundBy: Pick<FoundBy, 'fingerprint' | 'waiter'> = {},
  ): Promise<Task> {
    const task = await this.insertUnlessFound(command, deadlineMs, foundBy);
    if (task === undefined) throw new Error('no key was asked for, and yet none was free');
    return task;
  }

  /** Like `insert`, but undefined when `foundBy` rules the task out in favor of an existing one. */
  async insertUnlessFound(command: TaskCommand, deadlineMs: number, foundBy: FoundBy): Promise<Task | undefined> {
    const task = { command, deadlineMs, ...foundBy };
    // The trigger `tasks_reserve` (libs/billing/ledger.sql) locks a budget until the statement ends, and may refuse the
    // whole statement. So a task with a budget shares none: no other task should wait or fail with it. One whose budget is
    // too new to be known here is refused in a shared statement, and sent again alone.
    const isAlone = command.cost !== null && command.budgeted !== false;
    const row = isAlone ? (await insertTasks(this.prisma.pool, [task]))[0] : await this.together(task);
    return row && toTask(row);
  }
}

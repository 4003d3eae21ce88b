import type { PrismaService } from '#database/prisma.service.js';
import { readTasks } from '../row/read-task.sql.js';
import { toTask } from '../row/task-columns.js';
import { isDeleted, taskDeleted, type Task } from '../row/task.js';

/** The task of a request: a new one, or (`attached`) the one that an earlier try of the same request made. */
export interface Intake {
  readonly task: Task;
  readonly attached: boolean;
  /** Equal requests get the same task until its outcome is delivered, whoever sends them. Absent: false. */
  readonly isRepeatable?: boolean;
}

/** The task of a request that repeats none. */
export function created(task: Task): Intake {
  return { task, attached: false };
}

/**
 * Undefined if RetractTasks has just deleted the row, which it never does once a worker has held it. Throws AppError
 * `task_deleted`: a request that repeats a deleted task buys nothing.
 */
export async function attach(prisma: PrismaService, id: string): Promise<Intake | undefined> {
  const [row] = await readTasks(prisma.pool, [id], false);
  if (row === undefined) return undefined;
  const task = toTask(row);
  if (isDeleted(task)) throw taskDeleted(id);
  if (row.phase !== 'queued' || row.wanted || (await adopt(prisma, task))) return { task, attached: true };
  const [again] = await readTasks(prisma.pool, [id], false);
  return again && { task: toTask(again), attached: true };
}

/**
 * Marks a queued task as wanted, so that RetractTasks leaves it alone; false if it was marked before, claimed, or
 * deleted. Writes a time that came from the database, because claims compare it with the database's clock.
 */
export async function adopt(
  prisma: PrismaService,
  { id, createdAt }: Pick<Task, 'id' | 'createdAt'>,
): Promise<boolean> {
  const { count } = await prisma.task.updateMany({
    where: { id, phase: 'queued', nextTryAt: null },
    data: { nextTryAt: createdAt },
  });
  return count === 1;
}

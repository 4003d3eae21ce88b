import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import type { ServiceSample } from '#queue/service-times.js';
import { kindOf, serviceKind } from '../row/service-kind.js';
import { finishedMinutes, waitingRows, type FinishedMinute, type WaitingRows } from '../row/sweep.sql.js';
import { latencySplit, type LatencySplit, type Measured } from '../row/latency.sql.js';
import { toOptions } from '../row/task-columns.js';
import { tasksOf } from '../row/task-scope.js';
import type { TaskScope, TaskSummary } from '../row/task.js';

/** Figures of the queue, over the rows of all accounts. */
interface QueueFigures {
  /** Tasks that a worker or a provider is working on. */
  readonly running: number;
  readonly completedLastMinute: number;
  readonly failedLastHour: number;
}

/** More samples than the shared record keeps of all kinds together. */
const MAX_SAMPLES = 500;
/** Matches the condition of the index of ended tasks. */
const ENDED = { status: { not: 'pending' } };
/** Tasks that nobody works on yet, or again; starts with the condition of the index of unfinished tasks. */
const WAITING = { finishedAt: null, phase: 'queued' };

/** Aggregate figures of many tasks. */
@Injectable()
export class TaskFigures {
  constructor(private readonly prisma: PrismaService) {}

  /** Age of the oldest task that waits to be started, in seconds; 0 when none does. */
  async oldestWaitingSeconds(): Promise<number> {
    const oldest = await this.prisma.task.findFirst({
      where: WAITING,
      orderBy: { id: 'asc' },
      select: { createdAt: true },
    });
    return oldest === null ? 0 : Math.max(0, Date.now() - oldest.createdAt.getTime()) / 1_000;
  }

  async queue(): Promise<QueueFigures> {
    const { task } = this.prisma;
    const lastMinute = new Date(Date.now() - 60_000);
    const lastHour = new Date(Date.now() - 3_600_000);
    const [running, completedLastMinute, failedLastHour] = await Promise.all([
      task.count({ where: { finishedAt: null, phase: { notIn: ['held', 'queued'] } } }),
      task.count({ where: { AND: [ENDED, { status: 'completed', finishedAt: { gt: lastMinute } }] } }),
      task.count({ where: { status: 'failed', finishedAt: { gt: lastHour } } }),
    ]);
    return { running, completedLastMinute, failedLastHour };
  }

  /** All tasks that wait to be started, in groups that need the same of a provider. */
  async waiting(): Promise<WaitingRows[]> {
    return await waitingRows(this.prisma.pool);
  }

  /** The position of a waiting task among those of its scope, by acceptance; 1 = the oldest. */
  async positionOf(
    { accountId, own }: TaskScope,
    { id, createdAt }: Pick<TaskSummary, 'id' | 'createdAt'>,
  ): Promise<number> {
    const earlier = { OR: [{ createdAt: { lt: createdAt } }, { createdAt, id: { lt: id } }] };
    return 1 + (await this.prisma.task.count({ where: { ...WAITING, accountId, AND: [tasksOf(own), earlier] } }));
  }

  /** The number of waiting and running tasks by account id, without held ones; accounts without any are left out. */
  async inFlightByAccount(): Promise<ReadonlyMap<string, number>> {
    const where = { finishedAt: null, phase: { not: 'held' } };
    const rows = await this.prisma.task.groupBy({ by: 'accountId', where, _count: true });
    return new Map(rows.map(({ accountId, _count: count }) => [accountId, count]));
  }

  /**
   * How many tasks have completed and failed since a time, of one account or of all. `acceptedSince` is the earliest
   * time at which any of them can have been accepted. Chats are not tasks.
   */
  async outcomesSince(
    since: Date,
    account?: { readonly id: string; readonly acceptedSince: Date },
  ): Promise<{ readonly completed: number; readonly failed: number }> {
    const rows = await this.prisma.task.groupBy({
      by: 'status',
      where: {
        finishedAt: { gt: since },
        status: { in: ['completed', 'failed'] },
        // Conditions that let an index be used.
        ...(account === undefined
          ? { AND: [ENDED] }
          : { accountId: account.id, createdAt: { gt: account.acceptedSince } }),
      },
      _count: true,
    });
    const count = (wanted: string): number => rows.find(({ status }) => status === wanted)?._count ?? 0;
    return { completed: count('completed'), failed: count('failed') };
  }

  /** Tasks that ended in each of the last sixty minutes, including the current one, oldest first. */
  async finishedByMinute(): Promise<FinishedMinute[]> {
    return await finishedMinutes(this.prisma.pool);
  }

  /** Where the time of completed tasks went. */
  async latency(of: Measured): Promise<LatencySplit> {
    return await latencySplit(this.prisma.pool, of);
  }

  /** Times of the latest completed tasks from start to end, oldest first, to rebuild the shared record from. */
  async serviceTimes(): Promise<ServiceSample[]> {
    const rows = await this.prisma.task.findMany({
      where: { AND: [ENDED, { status: 'completed', provider: { not: null }, startedAt: { not: null } }] },
      orderBy: { finishedAt: 'desc' },
      take: MAX_SAMPLES,
      select: { model: true, options: true, provider: true, startedAt: true, finishedAt: true },
    });
    return rows.reverse().flatMap(({ model, options, provider, startedAt, finishedAt }) => {
      if (provider === null || startedAt === null || finishedAt === null) return [];
      const kind = serviceKind(kindOf({ model, options: toOptions(options) }), provider);
      return [{ kind, ms: finishedAt.getTime() - startedAt.getTime() }];
    });
  }
}

import { Injectable } from '@nestjs/common';
import { ERROR_KINDS, errorKind, isErrorCode } from '#contract/error-codes.js';
import { PrismaService } from '#database/prisma.service.js';
import type { ServiceSample } from '#queue/service-times.js';
import { kindOf, serviceKind } from './service-kind.js';
import { finishedMinutes, providerFigures, type FinishedMinute, type ProviderFigures } from './sweep.sql.js';
import { toOptions } from './task-columns.js';

/** What the rows of all accounts tell of the queue. */
interface QueueFigures {
  /** Of those that could start now. */
  readonly oldestWaitingSeconds: number;
  readonly completedLastMinute: number;
  readonly failedLastHour: number;
}

/** More than the shared record keeps of all kinds together. */
const MOST_SAMPLES = 500;
/** As the index of ended tasks says it. */
const ENDED = { status: { not: 'pending' } };

/** Codes of what went wrong at a provider, and not in a request. */
const PROVIDER_FAULTS = Object.keys(ERROR_KINDS).filter((code) => isErrorCode(code) && errorKind(code).status >= 500);

/** What the rows of many tasks tell together. */
@Injectable()
export class TaskFigures {
  constructor(private readonly prisma: PrismaService) {}

  /** Age of the oldest task that waits to be started, in seconds; 0 when none does. */
  async oldestWaitingSeconds(): Promise<number> {
    return await this.oldestSeconds();
  }

  /** With `dueAt`, without those whose next try comes later. */
  private async oldestSeconds(dueAt?: Date): Promise<number> {
    const oldest = await this.prisma.task.findFirst({
      where: {
        ...{ finishedAt: null, phase: 'queued' },
        ...(dueAt !== undefined && { OR: [{ nextTryAt: null }, { nextTryAt: { lte: dueAt } }] }),
      },
      orderBy: { id: 'asc' },
      select: { createdAt: true },
    });
    return oldest === null ? 0 : Math.max(0, Date.now() - oldest.createdAt.getTime()) / 1_000;
  }

  async queue(): Promise<QueueFigures> {
    const { task } = this.prisma;
    const [lastMinute, lastHour] = [new Date(Date.now() - 60_000), new Date(Date.now() - 3_600_000)];
    const [oldestWaitingSeconds, completedLastMinute, failedLastHour] = await Promise.all([
      // Those that wait for their next try are counted apart.
      this.oldestSeconds(new Date()),
      task.count({ where: { AND: [ENDED, { status: 'completed', finishedAt: { gt: lastMinute } }] } }),
      task.count({ where: { status: 'failed', finishedAt: { gt: lastHour } } }),
    ]);
    return { oldestWaitingSeconds, completedLastMinute, failedLastHour };
  }

  /** How many tasks of each account wait or run, by its id; accounts without any are left out. */
  async inFlightByAccount(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.prisma.task.groupBy({ by: 'accountId', where: { finishedAt: null }, _count: true });
    return new Map(rows.map(({ accountId, _count: count }) => [accountId, count]));
  }

  /**
   * How many tasks have completed and failed since a time: of an account, where `acceptedSince` is the acceptance of the
   * oldest that can be among them, or of all accounts. Chats are no tasks.
   */
  async outcomesSince(
    since: Date,
    account?: { readonly id: string; readonly acceptedSince: Date },
  ): Promise<{ readonly completed: number; readonly failed: number }> {
    const rows = await this.prisma.task.groupBy({
      by: 'status',
      where: {
        ...{ finishedAt: { gt: since }, status: { in: ['completed', 'failed'] } },
        // What an index is entered by.
        ...(account === undefined
          ? { AND: [ENDED] }
          : { accountId: account.id, createdAt: { gt: account.acceptedSince } }),
      },
      _count: true,
    });
    const count = (wanted: string): number => rows.find(({ status }) => status === wanted)?._count ?? 0;
    return { completed: count('completed'), failed: count('failed') };
  }

  /** The last sixty minutes, the one that runs included, oldest first. */
  async finishedByMinute(): Promise<FinishedMinute[]> {
    return await finishedMinutes(this.prisma.pool);
  }

  /** Calls for images that ended in the last hour; of a busy hour, those of its newest tasks. */
  async providers(): Promise<ProviderFigures[]> {
    return await providerFigures(this.prisma.pool, PROVIDER_FAULTS);
  }

  /** How long the latest completed tasks took from start to end, oldest first: what the shared record is made of anew. */
  async serviceTimes(): Promise<ServiceSample[]> {
    const rows = await this.prisma.task.findMany({
      where: { AND: [ENDED, { status: 'completed', provider: { not: null }, startedAt: { not: null } }] },
      orderBy: { finishedAt: 'desc' },
      take: MOST_SAMPLES,
      select: { model: true, options: true, provider: true, startedAt: true, finishedAt: true },
    });
    return rows.reverse().flatMap(({ model, options, provider, startedAt, finishedAt }) => {
      if (provider === null || startedAt === null || finishedAt === null) return [];
      const kind = serviceKind(kindOf({ model, options: toOptions(options) }), provider);
      return [{ kind, ms: finishedAt.getTime() - startedAt.getTime() }];
    });
  }
}

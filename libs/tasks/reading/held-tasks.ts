import { Injectable } from '@nestjs/common';
import { NO_JSON } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { accountsToTell, markTold } from '../row/untold-approvals.sql.js';
import type { TaskApproval } from '../row/task.js';

/** A task that waits for its approval. */
export interface HeldTask {
  readonly id: string;
  /** When it fails unless it is approved. */
  readonly expiresAt: Date;
  readonly approval: TaskApproval;
}

/** Starts with the condition of the index of unfinished tasks. */
const HELD = { finishedAt: null, phase: 'held' };

/** Tasks that wait for an approval, of one account. */
@Injectable()
export class HeldTasks {
  constructor(private readonly prisma: PrismaService) {}

  /** The oldest ones first. */
  async list(accountId: string, limit: number): Promise<HeldTask[]> {
    const rows = await this.prisma.task.findMany({
      where: { ...HELD, accountId },
      orderBy: { id: 'asc' },
      take: limit,
      select: { id: true, deadlineAt: true, approval: true },
    });
    return rows.map(({ id, deadlineAt: expiresAt, approval }) => {
      return { id, expiresAt, approval: approval as unknown as TaskApproval };
    });
  }

  /** Accounts with held tasks that no email was about. */
  async accountsToTell(): Promise<string[]> {
    return await accountsToTell(this.prisma.pool);
  }

  /** An email is about to be about all such tasks of the account; returns how many there are. */
  async markTold(accountId: string): Promise<number> {
    return await markTold(this.prisma.pool, accountId);
  }

  /** Whether a task of any account waits for its approval, or was approved and has not ended. */
  async anyUnfinished(): Promise<boolean> {
    const where = { finishedAt: null, approval: { not: NO_JSON } };
    return (await this.prisma.task.findFirst({ where, select: { id: true } })) !== null;
  }

  /** How many there are, and the age of the oldest in seconds; 0 without any. */
  async figures(accountId: string): Promise<{ readonly count: number; readonly oldestSeconds: number }> {
    const { _count: count, _min: oldest } = await this.prisma.task.aggregate({
      where: { ...HELD, accountId },
      _count: true,
      _min: { createdAt: true },
    });
    const since = oldest.createdAt?.getTime() ?? Date.now();
    return { count, oldestSeconds: Math.max(0, Date.now() - since) / 1_000 };
  }
}

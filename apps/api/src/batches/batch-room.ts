import { Injectable } from '@nestjs/common';
import { BatchSteps } from '#batches/batch-steps.repository.js';
import type { Batch } from '#batches/batch.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import type { Caller } from '../auth/caller.js';

/** Most tasks of an account's batches that wait or run: enough for the slots of several workers. */
const MAX_IN_FLIGHT = 64;
/** The share of a limit of tasks in flight that batches leave to other requests. */
const LEFT = 1 / 2;
/** Lines that a process submits at a time; each may hold 1 MB of its file. */
const AT_ONCE = 16;

/** How many lines of a batch may be tasks at a time, so that neither Redis nor its account's slots are flooded. */
@Injectable()
export class BatchRoom {
  constructor(
    private readonly steps: BatchSteps,
    private readonly config: TasksConfig,
  ) {}

  /** Most lines of the batch that may be waiting or running tasks now; at least one. */
  async of({ accountId }: Batch, { limits, account }: Caller): Promise<number> {
    const ofKey = limits.tasksInFlight ?? this.config.maxTasksInFlight;
    const ofAccount = account.limits.tasksInFlight ?? this.config.accountTasksInFlight;
    const shares = [ofKey, ofAccount].filter((limit) => limit > 0).map((limit) => Math.floor(limit * LEFT));
    const batches = Math.max(1, await this.steps.countOpen(accountId));
    return Math.max(1, Math.floor(Math.min(MAX_IN_FLIGHT, ...shares) / batches));
  }

  /** How many of so many lines to submit in one step. */
  atOnce(room: number): number {
    return Math.min(room, AT_ONCE);
  }
}

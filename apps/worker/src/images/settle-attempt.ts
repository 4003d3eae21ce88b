import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { ImageQueue, type QueueEntry } from '#queue/image-queue.js';
import { DropInputs } from '#tasks/retention/drop-inputs.js';
import type { CallEnd } from '#tasks/row/provider-call.js';
import { taskError } from '#tasks/row/task.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { TaskEnds } from '#tasks/states/task-ends.js';
import { TaskEvents } from '#tasks/states/task-events.js';
import {
  TaskTransitions,
  TransitionUnanswered,
  type Completion,
  type TaskResult,
} from '#tasks/states/task-transitions.js';
import { Logger } from '#telemetry/logger.js';
import { inSpan } from '#telemetry/spans.js';
import { identity, type Attempt } from './attempt.js';
import { ImageNotStored, verdictOn } from './failure-verdict.js';
import { LeaseLost } from './leases.js';

/** Delay between two writes of a finished image, when the database fails. */
const RETRY_MS = 500;
/** Maximum number of writes; about a quarter of an hour. */
const MAX_TRIES = 1_800;

/**
 * What an attempt leaves of its task: completed, parked while its provider works, or what follows from a failure. A
 * worker that no longer holds the task writes nothing.
 */
@Injectable()
export class SettleAttempt {
  constructor(
    private readonly transitions: TaskTransitions,
    private readonly ends: TaskEnds,
    private readonly queue: ImageQueue,
    private readonly events: TaskEvents,
    private readonly inputs: DropInputs,
    private readonly config: TasksConfig,
    private readonly logger: Logger,
  ) {}

  /**
   * Completes the task. False when it has already ended in another way, so the images are discarded. Throws
   * ImageNotStored when the result could not be saved.
   */
  async completed(attempt: Attempt, result: TaskResult, end: CallEnd): Promise<boolean> {
    const { claimed, lease, span } = attempt;
    const ended = await inSpan({ name: 'task.complete', parent: claimed.task.id }, () =>
      this.completeWithRetries(attempt, result, end),
    );
    const won = ended !== undefined;
    span.set({ outcome: won ? 'completed' : 'discarded', images: result.images.length });
    if (won) this.ends.completed(claimed.task, claimed.asynchronous, ended.row);
    const durationMs = Date.now() - claimed.task.createdAt.getTime();
    this.logger.info(won ? 'task.completed' : 'task.result_discarded', {
      ...identity(claimed),
      attempt: lease.attempt,
      durationMs,
    });
    return won;
  }

  /**
   * Releases the task while its provider works, to be resumed in `delayMs`. False when it is no longer held. Throws TransitionUnanswered when the
   * database does not answer: then the lease expires, and the next worker fetches the job.
   */
  async parked(attempt: Attempt, delayMs: number): Promise<boolean> {
    const { claimed, lease, call, span } = attempt;
    const entry = await this.transitions.park(lease, delayMs, attempt.mayStoreLate).catch((cause: unknown) => {
      throw new TransitionUnanswered('not parked', { cause });
    });
    const line = { ...identity(claimed), attempt: lease.attempt, provider: call?.provider.name, durationMs: delayMs };
    if (entry === undefined) {
      this.logger.warn('task.lease_lost', line);
      return false;
    }
    span.set({ outcome: 'parked', delayMs });
    this.logger.info('task.parked', line);
    await this.requeue(entry);
    return true;
  }

  /**
   * Decides by the error and applies the verdict; false when the task is no longer held. If the database does not answer,
   * the lease expires.
   */
  async failed(attempt: Attempt, thrown: unknown): Promise<boolean> {
    const { claimed, lease, call, span } = attempt;
    const error: unknown = lease.signal.aborted ? lease.signal.reason : thrown;
    const verdict = verdictOn(error, {
      starts: attempt.starts,
      maxStarts: this.config.maxProviderStarts,
      tries: claimed.tries,
      provider: call?.provider,
      prompt: claimed.prompt,
      resumable: attempt.resumable,
    });
    const end = attempt.endWith(error);
    const line = { ...identity(claimed), attempt: lease.attempt, provider: call?.provider.name };
    switch (verdict.kind) {
      case 'leave':
        break;
      case 'park':
        this.logger.warn('task.asked_later', { ...line, error });
        return this.parked(attempt, verdict.delayMs);
      case 'release': {
        const entry = await this.transitions.release(lease, verdict.delayMs, end, {
          wait: verdict.wait,
          notCalled: attempt.begun !== undefined,
          mayStoreLate: attempt.mayStoreLate,
        });
        if (entry === undefined) break;
        span.set({ outcome: 'given_back', delayMs: verdict.delayMs });
        this.logger.warn('task.given_back', { ...line, durationMs: verdict.delayMs, error });
        await this.requeue(entry);
        return true;
      }
      case 'fail':
        if (!(await this.transitions.fail(lease, taskError(verdict.error), end, attempt.isLast))) break;
        span.fail(verdict.error);
        span.set({ outcome: 'failed' });
        this.ends.failed(claimed.task, claimed.asynchronous, verdict.error.code, verdict.error.moderation);
        this.logger.warn('task.failed', {
          ...line,
          code: verdict.error.code,
          error: verdict.error.cause ?? verdict.error,
        });
        // An error of class 400 lies in the request itself.
        if (verdict.error.status < 500 && claimed.inputs.length > 0) await this.inputs.drop(lease.id);
        return true;
    }
    // Another worker has claimed the task, or it has ended, or the outcome of the last write is unknown.
    span.set({ outcome: 'lost' });
    this.logger.warn('task.lease_lost', line);
    return false;
  }

  /**
   * Keeps a stored image through a database outage: retries until the task's deadline or the end of the process. An
   * expired lease matters only if another worker has claimed the task. Undefined when the result was rejected.
   */
  private async completeWithRetries(
    { claimed, lease }: Attempt,
    result: TaskResult,
    end: CallEnd,
  ): Promise<{ readonly row?: Completion } | undefined> {
    for (let tries = 1; ; tries++) {
      try {
        const row = await this.transitions.complete(lease, result, end);
        if (row !== undefined) return { row };
        // An earlier write may have been committed, with only its response lost.
        return tries > 1 && (await this.transitions.isCompletedBy(lease)) ? {} : undefined;
      } catch (error) {
        const { signal } = lease;
        const isLast = signal.aborted && !(signal.reason instanceof LeaseLost);
        if (isLast || tries === MAX_TRIES) throw new ImageNotStored('not written down', { cause: error });
        this.logger.warn('task.not_completed', { ...identity(claimed), attempt: lease.attempt, error });
        await delay(RETRY_MS);
      }
    }
  }

  /** Never fails: without Redis, the sweep finds the task. */
  private async requeue(entry: QueueEntry): Promise<void> {
    this.events.publishChanged(entry.taskId);
    await this.queue.add(entry).catch(() => undefined);
  }
}

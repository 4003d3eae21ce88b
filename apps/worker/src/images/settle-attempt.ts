import { Injectable } from '@nestjs/common';
import { DropInputs } from '#tasks/retention/drop-inputs.js';
import { TaskEnds } from '#tasks/states/task-ends.js';
import { taskError } from '#tasks/row/task.js';
import { TransitionUnanswered, TaskTransitions } from '#tasks/states/task-transitions.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { Logger } from '#telemetry/logger.js';
import { identity, type Attempt } from './attempt.js';
import { verdictOn } from './failure-verdict.js';
import { RequeueTask } from './requeue-task.js';

/** Settles a task whose attempt produced no image. */
@Injectable()
export class SettleAttempt {
  constructor(
    private readonly transitions: TaskTransitions,
    private readonly queue: RequeueTask,
    private readonly ends: TaskEnds,
    private readonly config: TasksConfig,
    private readonly logger: Logger,
    private readonly inputs: DropInputs,
  ) {}

  /**
   * Releases the task while its provider works, to be resumed in `delayMs`. Throws TransitionUnanswered when the
   * database does not answer: then the lease expires, and the next worker fetches the job.
   */
  async park({ claimed, lease, call, span }: Attempt, delayMs: number): Promise<void> {
    const entry = await this.transitions.park(lease, delayMs).catch((cause: unknown) => {
      throw new TransitionUnanswered('not parked', { cause });
    });
    const line = { ...identity(claimed), attempt: lease.attempt, provider: call?.provider.name, durationMs: delayMs };
    if (entry === undefined) {
      this.logger.warn('task.lease_lost', line);
      return;
    }
    span.set({ outcome: 'parked', delayMs });
    this.logger.info('task.parked', line);
    await this.queue.requeue(entry);
  }

  /** Decides by the error and applies the verdict. If the database does not answer, the lease expires. */
  async failed(attempt: Attempt, thrown: unknown): Promise<void> {
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
        return this.park(attempt, verdict.delayMs);
      case 'release': {
        const entry = await this.transitions.release(lease, verdict.delayMs, end, {
          wait: verdict.wait,
          notCalled: attempt.begun !== undefined,
        });
        if (entry === undefined) break;
        span.set({ outcome: 'given_back', delayMs: verdict.delayMs });
        this.logger.warn('task.given_back', { ...line, durationMs: verdict.delayMs, error });
        await this.queue.requeue(entry);
        return;
      }
      case 'fail':
        if (!(await this.transitions.fail(lease, taskError(verdict.error), end))) break;
        span.fail(verdict.error);
        span.set({ outcome: 'failed' });
        this.ends.failed(claimed.task, claimed.asynchronous, verdict.error.code);
        this.logger.warn('task.failed', {
          ...line,
          code: verdict.error.code,
          error: verdict.error.cause ?? verdict.error,
        });
        // An error of class 400 lies in the request itself.
        if (verdict.error.status < 500 && claimed.inputs.length > 0) await this.inputs.drop(lease.id);
        return;
    }
    // Another worker has claimed the task, or it has ended: nothing was written for this attempt.
    span.set({ outcome: 'lost' });
    this.logger.warn('task.lease_lost', line);
  }
}

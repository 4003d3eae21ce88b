import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '#contract/app-error.js';
import type { ProviderEntry } from '#providers/provider-entry.js';
import type { ProviderError } from '#providers/provider-error.js';
import type { ImageQueue, QueueEntry } from '#queue/image-queue.js';
import type { Candidate } from '#routing/route-plan.js';
import { unknownEnd, type CallEnd } from '#tasks/provider-call.js';
import { taskError } from '#tasks/task-error.js';
import type { TaskBell } from '#tasks/task-events.js';
import { MoveUnanswered, type ClaimedTask, type TaskMoves, type TaskResult } from '#tasks/task-moves.js';
import type { TaskSlots } from '#tasks/task-slots.js';
import type { TasksConfig } from '#tasks/tasks.config.js';
import type { Logger } from '#telemetry/logger.js';
import type { SendDeliveries } from '#webhooks/send-deliveries.js';
import { successOf, type Attempt } from './attempt.js';
import { PictureNotStored, StartNotCounted, verdictOn } from './failure-verdict.js';
import { HoldLost, type HeldTask, type Holds } from './hold.js';
import { ProgressWriter } from './progress-writer.js';
import type { TaskMeter } from './task-meter.js';

/** Who learns of a task's moves. */
interface Notified {
  readonly bell: TaskBell;
  readonly queue: ImageQueue;
  readonly slots: TaskSlots;
  readonly meter: TaskMeter;
  readonly deliveries: SendDeliveries;
}

/** A phase shorter than this is over before anyone could look. */
const VISIBLE_MS = 250;

/** How long what a provider has done waits for the database between two tries. */
const RETRY_MS = 500;
/** How often a finished picture is offered to it; about a quarter of an hour. */
const COMPLETE_TRIES = 1_800;

/** Moves a held task along and says so in the log. Throws HoldLost when the task is no longer ours. */
export class TaskKeeper {
  constructor(
    private readonly moves: TaskMoves,
    private readonly holds: Holds,
    private readonly notify: Notified,
    private readonly config: TasksConfig,
    private readonly logger: Logger,
  ) {}

  async claim(taskId: string, owner: string): Promise<ClaimedTask | undefined> {
    const claimed = await this.moves.claim(taskId, owner, this.config.leaseMs);
    if (claimed === undefined) this.logger.debug('task.not_claimed', { taskId });
    else {
      this.notify.bell.ringChanged(taskId);
      this.notify.meter.claimed(claimed);
      this.logger.info('task.claimed', { ...identity(claimed), attempt: claimed.attempt });
    }
    return claimed;
  }

  /** Throws AppError `interrupted` when the task has taken enough workers with it. */
  refusePoison(claimed: ClaimedTask): void {
    if (claimed.losses >= this.config.maxProviderStarts) throw givenUp();
  }

  hold(claimed: ClaimedTask): HeldTask {
    return this.holds.keep({ id: claimed.task.id, attempt: claimed.attempt }, claimed.remainingMs);
  }

  progress(held: HeldTask): ProgressWriter {
    return new ProgressWriter(this.moves, held, this.notify.bell, this.logger);
  }

  /** Whether the cap leaves room for another call. */
  mayStart({ starts }: Attempt): boolean {
    return starts < this.config.maxProviderStarts;
  }

  /** Counts a call before it is made, and says how the one before it ended. */
  async startProvider(attempt: Attempt, { provider, key, model }: Candidate): Promise<void> {
    const { held, call: before } = attempt;
    held.signal.throwIfAborted();
    if (!this.mayStart(attempt)) throw givenUp();
    const call = { provider: provider.name, key: key?.name ?? '', model, free: provider.free };
    const endBefore = before && (before.end ?? unknownEnd(before.provider.free));
    attempt.call = { provider, jobId: undefined, end: undefined };
    const counted = await this.moves
      .startProvider(held, call, this.config.maxProviderStarts, endBefore)
      .catch((cause: unknown) => {
        throw new StartNotCounted('not counted', { cause });
      });
    if (!counted) throw new HoldLost();
    attempt.starts += 1;
  }

  /** Waits for a call to the provider, which counts by how it ends. */
  async called<T extends object>(held: HeldTask, provider: string, call: Promise<T>): Promise<T> {
    return this.notify.meter.call(provider, call, held.signal);
  }

  /** Is tried until the database takes it, or the hold is lost: without its name a paid job can't be fetched. */
  async acceptedByProvider(attempt: Attempt, providerJobId: string): Promise<void> {
    const { claimed, held } = attempt;
    for (;;) {
      try {
        if (!(await this.moves.acceptedByProvider(held, providerJobId))) throw new HoldLost();
        if (attempt.call !== undefined) attempt.call.jobId = providerJobId;
        return;
      } catch (error) {
        if (error instanceof HoldLost || held.signal.aborted) throw error;
        this.logger.warn('task.job_not_noted', { ...identity(claimed), attempt: held.attempt, error });
        await delay(RETRY_MS);
      }
    }
  }

  /** The last call failed without a charge, and another provider or key is asked. */
  failedOver({ claimed, held, call }: Attempt, error: ProviderError): void {
    const { code } = error;
    this.logger.warn('task.failed_over', {
      ...identity(claimed),
      attempt: held.attempt,
      provider: call?.provider.name,
      code,
      error,
    });
  }

  /** Shows the phase `storing` while the work takes long enough to be seen. */
  async whileStoring(held: HeldTask, work: () => Promise<void>): Promise<void> {
    const notice = setTimeout(() => {
      this.moves.progress(held, 90, 'storing').then(
        (written) => {
          if (written) this.notify.bell.ringChanged(held.id);
        },
        (error: unknown) => {
          this.logger.debug('progress.not_written', { taskId: held.id, error });
        },
      );
    }, VISIBLE_MS);
    await work().finally(() => {
      clearTimeout(notice);
    });
  }

  /** False when the task has ended in another way meanwhile; then the picture is not wanted. */
  async complete({ claimed, held }: Attempt, provider: ProviderEntry, result: TaskResult): Promise<boolean> {
    const won = await this.completeInTheEnd(claimed, held, result, successOf(provider.free));
    if (won) {
      this.ended(claimed);
      this.notify.meter.completed(claimed, provider.name);
    }
    const durationMs = Date.now() - claimed.task.createdAt.getTime();
    this.logger.info(won ? 'task.completed' : 'task.result_discarded', {
      ...identity(claimed),
      attempt: held.attempt,
      durationMs,
    });
    return won;
  }

  /**
   * A picture that is made and stored outlives a database that is away for a while: it is offered again until the
   * task's deadline or the end of the process. That the lease has run out meanwhile matters only if another took over.
   */
  private async completeInTheEnd(
    claimed: ClaimedTask,
    held: HeldTask,
    result: TaskResult,
    end: CallEnd,
  ): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      try {
        if (await this.moves.complete(held, result, end)) return true;
        // An earlier try may have been carried out, and only its answer lost.
        return tries > 1 && (await this.moves.isCompletedBy(held));
      } catch (error) {
        const { signal } = held;
        const isLast = signal.aborted && !(signal.reason instanceof HoldLost);
        if (isLast || tries === COMPLETE_TRIES) throw new PictureNotStored('not written down', { cause: error });
        this.logger.warn('task.not_completed', { ...identity(claimed), attempt: held.attempt, error });
        await delay(RETRY_MS);
      }
    }
  }

  /**
   * Lets the task go while its provider works on, and asks for it again in `delayMs`. Throws MoveUnanswered when the
   * database does not answer: then the lease runs out, and whoever takes the task asks for the job.
   */
  async park({ claimed, held, call }: Attempt, delayMs: number): Promise<void> {
    const entry = await this.moves.park(held, delayMs).catch((cause: unknown) => {
      throw new MoveUnanswered('not parked', { cause });
    });
    const line = { ...identity(claimed), attempt: held.attempt, provider: call?.provider.name, durationMs: delayMs };
    this.logger.info(entry === undefined ? 'task.hold_lost' : 'task.parked', line);
    if (entry !== undefined) await this.enqueue(entry);
  }

  /** Decides by the error and carries it out. A database that does not answer leaves the lease to run out. */
  async settleFailure(attempt: Attempt, thrown: unknown): Promise<void> {
    const { claimed, held, call } = attempt;
    const error: unknown = held.signal.aborted ? held.signal.reason : thrown;
    const verdict = verdictOn(error, {
      starts: attempt.starts,
      maxStarts: this.config.maxProviderStarts,
      tries: claimed.tries,
      provider: call?.provider,
      resumable: attempt.resumable,
    });
    const end = attempt.endWith(error);
    const line = { ...identity(claimed), attempt: held.attempt, provider: call?.provider.name };
    switch (verdict.kind) {
      case 'walk-away':
        this.logger.warn('task.hold_lost', line);
        return;
      case 'park':
        this.logger.warn('task.asked_later', { ...line, error });
        return this.park(attempt, verdict.delayMs);
      case 'give-back': {
        const entry = await this.moves.giveBack(held, verdict.delayMs, end, verdict.wait);
        this.logger.warn('task.given_back', { ...line, durationMs: verdict.delayMs, error });
        if (entry !== undefined) await this.enqueue(entry);
        return;
      }
      case 'fail':
        if (await this.moves.fail(held, taskError(verdict.error), end)) {
          this.ended(claimed);
          this.notify.meter.failed(verdict.error);
        }
        this.logger.warn('task.failed', {
          ...line,
          code: verdict.error.code,
          error: verdict.error.cause ?? verdict.error,
        });
        return;
    }
  }

  /** Without Redis the sweeper finds it. */
  private async enqueue(entry: QueueEntry): Promise<void> {
    this.notify.bell.ringChanged(entry.taskId);
    await this.notify.queue.add(entry).catch(() => undefined);
  }

  private ended({ task, asynchronous }: ClaimedTask): void {
    this.notify.slots.free(task);
    this.notify.bell.ring(task.id);
    if (asynchronous) this.notify.deliveries.announce(task.id);
  }
}

function givenUp(): AppError {
  return new AppError('interrupted', 'The picture was begun too often without being finished, so it was given up.');
}

function identity(claimed: ClaimedTask): { taskId: string; requestId: string } {
  return { taskId: claimed.task.id, requestId: claimed.task.requestId };
}

import { AppError } from '#contract/app-error.js';
import type { ImageProvider } from '#providers/image-provider.js';
import type { ImageQueue } from '#queue/image-queue.js';
import { taskError } from '#tasks/task-error.js';
import type { TaskBell } from '#tasks/task-events.js';
import type { ClaimedTask, TaskMoves, TaskResult } from '#tasks/task-moves.js';
import type { TaskSlots } from '#tasks/task-slots.js';
import type { TasksConfig } from '#tasks/tasks.config.js';
import type { Logger } from '#telemetry/logger.js';
import { verdictOn } from './failure-verdict.js';
import { HoldLost, type HeldTask, type Holds } from './hold.js';
import { ProgressWriter } from './progress-writer.js';

/** A phase shorter than this is over before anyone could look. */
const VISIBLE_MS = 250;

/** Moves a held task along and says so in the log. Throws HoldLost when the task is no longer ours. */
export class TaskKeeper {
  constructor(
    private readonly moves: TaskMoves,
    private readonly holds: Holds,
    private readonly notify: { readonly bell: TaskBell; readonly queue: ImageQueue; readonly slots: TaskSlots },
    private readonly config: TasksConfig,
    private readonly logger: Logger,
  ) {}

  async claim(taskId: string, owner: string): Promise<ClaimedTask | undefined> {
    const claimed = await this.moves.claim(taskId, owner, this.config.leaseMs);
    if (claimed === undefined) this.logger.debug('task.not_claimed', { taskId });
    else {
      this.notify.bell.ringChanged(taskId);
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

  async startProvider(claimed: ClaimedTask, held: HeldTask, provider: ImageProvider): Promise<void> {
    held.signal.throwIfAborted();
    if (claimed.providerStarts >= this.config.maxProviderStarts) throw givenUp();
    if (!(await this.moves.startProvider(held, provider, this.config.maxProviderStarts))) throw new HoldLost();
  }

  async acceptedByProvider(held: HeldTask, providerJobId: string): Promise<void> {
    if (!(await this.moves.acceptedByProvider(held, providerJobId))) throw new HoldLost();
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
  async complete(claimed: ClaimedTask, held: HeldTask, result: TaskResult): Promise<boolean> {
    const won = await this.moves.complete(held, result);
    if (won) this.ended(claimed);
    const durationMs = Date.now() - claimed.task.createdAt.getTime();
    this.logger.info(won ? 'task.completed' : 'task.result_discarded', {
      ...identity(claimed),
      attempt: held.attempt,
      durationMs,
    });
    return won;
  }

  /** Decides by the error and carries it out. A database that does not answer leaves the lease to run out. */
  async settleFailure(claimed: ClaimedTask, held: HeldTask, provider: ImageProvider, thrown: unknown): Promise<void> {
    const error: unknown = held.signal.aborted ? held.signal.reason : thrown;
    const verdict = verdictOn(error, {
      starts: claimed.providerStarts + 1,
      maxStarts: this.config.maxProviderStarts,
      attempt: claimed.attempt,
      free: provider.free,
    });
    const line = { ...identity(claimed), attempt: held.attempt, provider: provider.name };
    switch (verdict.kind) {
      case 'walk-away':
        this.logger.warn('task.hold_lost', line);
        return;
      case 'give-back': {
        // A call that was cut short may still be running at the provider; a classified failure is known to be over.
        const outcomeKnown = provider.free || !held.signal.aborted;
        const entry = await this.moves.giveBack(held, verdict.delayMs, outcomeKnown);
        this.logger.warn('task.given_back', { ...line, durationMs: verdict.delayMs, error });
        if (entry === undefined) return;
        this.notify.bell.ringChanged(held.id);
        // Without Redis the sweeper finds it.
        await this.notify.queue.add(entry).catch(() => undefined);
        return;
      }
      case 'fail':
        if (await this.moves.fail(held, taskError(verdict.error))) this.ended(claimed);
        this.logger.warn('task.failed', {
          ...line,
          code: verdict.error.code,
          error: verdict.error.cause ?? verdict.error,
        });
        return;
    }
  }

  private ended({ task }: ClaimedTask): void {
    this.notify.slots.free(task.apiKeyId, task.id);
    this.notify.bell.ring(task.id);
  }
}

function givenUp(): AppError {
  return new AppError('interrupted', 'The picture was begun too often without being finished, so it was given up.');
}

function identity(claimed: ClaimedTask): { taskId: string; requestId: string } {
  return { taskId: claimed.task.id, requestId: claimed.task.requestId };
}

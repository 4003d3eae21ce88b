import { IsOptional } from 'class-validator';
import { Setting, Within } from '#config/setting.js';

/** Time limits of a task in ms, and how many starts and tasks are allowed. */
export class TasksConfig {
  @Setting('TASK_DEADLINE_MS', 'A task that has not ended by then fails with generation_timeout.', { unit: 'ms' })
  @Within(1_000, 86_400_000)
  readonly deadlineMs: number = 900_000;

  @Setting('LEASE_MS', 'A worker that has not renewed its lease on a task for this long has lost it.', { unit: 'ms' })
  @Within(1_000, 600_000)
  readonly leaseMs: number = 20_000;

  @Setting(
    'ATTACH_WINDOW_MS',
    'How long the task of a caller that left without its image goes to an equal request of the same API key; 0 = never.',
    { unit: 'ms' },
  )
  @Within(0, 900_000)
  readonly attachWindowMs: number = 120_000;

  @Setting(
    'IDEMPOTENCY_KEY_RETENTION_HOURS',
    'How long an Idempotency-Key stands for its task; at least until the task’s deadline.',
    { unit: 'h' },
  )
  @Within(1, 168)
  readonly idempotencyKeyRetentionHours: number = 24;

  @Setting('MAX_PROVIDER_STARTS', 'Maximum calls to providers for one task, whatever happens.')
  @Within(1, 10)
  readonly maxProviderStarts: number = 3;

  // As many as a key has in flight with its usual 60 submits a minute and images of 100 s, about the slowest there are.
  @Setting('MAX_TASKS_IN_FLIGHT', 'Tasks of one API key that may wait or run at once; 0 = unlimited.')
  @Within(0, 1_000_000)
  readonly maxTasksInFlight: number = 100;

  @Setting(
    'ACCOUNT_TASKS_IN_FLIGHT',
    'Tasks of all API keys of an account that may wait or run at once; 0 = unlimited, unset = five times MAX_TASKS_IN_FLIGHT.',
  )
  @IsOptional()
  @Within(0, 1_000_000)
  private readonly accountLimit?: number;

  /** Tasks of an account that may wait or run at a time; 0 = any number. */
  get accountTasksInFlight(): number {
    return this.accountLimit ?? 5 * this.maxTasksInFlight;
  }

  @Setting('SWEEP_INTERVAL_MS', 'How often each process looks for abandoned tasks.', { unit: 'ms' })
  @Within(100, 60_000)
  readonly sweepIntervalMs: number = 5_000;
}

/** Milliseconds that a task has from acceptance to its end. */
export function deadlineOf({ deadlineMs }: { readonly deadlineMs?: number }, config: TasksConfig): number {
  return Math.min(deadlineMs ?? config.deadlineMs, config.deadlineMs);
}

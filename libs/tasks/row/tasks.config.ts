import { Setting, Within } from '#config/setting.js';

/** Time limits of a task, how long it is kept, and how many starts and tasks are allowed. */
export class TasksConfig {
  @Setting(
    'TASK_DEADLINE_MS',
    'Deadline of a task, from acceptance; a task still unfinished then fails with generation_timeout.',
    { who: 'traffic', unit: 'ms' },
  )
  @Within(1_000, 86_400_000)
  readonly deadlineMs: number = 900_000;

  @Setting('LEASE_MS', 'How long a lease on a task lasts; a worker that does not renew it in time loses the task.', {
    who: 'processes',
    unit: 'ms',
  })
  @Within(1_000, 600_000)
  readonly leaseMs: number = 20_000;

  @Setting(
    'ATTACH_WINDOW_MS',
    'How long an identical request with the same API key is attached to the task of a caller that disconnected before getting its image; 0 = never.',
    { who: 'rules', unit: 'ms' },
  )
  @Within(0, 900_000)
  readonly attachWindowMs: number = 120_000;

  @Setting(
    'TASK_RETENTION_HOURS',
    'How long a finished task can be read, and at least as long as its images are kept.',
    { who: 'rules', unit: 'h' },
  )
  @Within(1)
  readonly taskRetentionHours: number = 168;

  @Setting('MAX_PROVIDER_STARTS', 'Maximum provider calls for one task.', { who: 'rules' })
  @Within(1, 10)
  readonly maxProviderStarts: number = 3;

  // As many as a key has in flight with its usual 60 submits a minute and images of 100 s, about the slowest there are.
  @Setting('MAX_TASKS_IN_FLIGHT', 'Maximum tasks in flight (waiting or running) per API key; 0 = unlimited.', {
    who: 'traffic',
  })
  @Within(0, 1_000_000)
  readonly maxTasksInFlight: number = 100;

  @Setting(
    'ACCOUNT_LIMIT_FACTOR',
    'What all API keys of an account may do together, in multiples of a key’s limits (RATE_..._PER_MINUTE, MAX_TASKS_IN_FLIGHT); 0 = unlimited.',
    { who: 'traffic' },
  )
  @Within(0, 10_000)
  private readonly accountLimitFactor: number = 5;

  /** Tasks of an account that may wait or run at a time; 0 = any number. */
  get accountTasksInFlight(): number {
    return this.accountLimitFactor * this.maxTasksInFlight;
  }

  @Setting('SWEEP_INTERVAL_MS', 'How often each process looks for abandoned tasks.', { who: 'traffic', unit: 'ms' })
  @Within(100, 60_000)
  readonly sweepIntervalMs: number = 5_000;
}

/** Milliseconds that a task has from acceptance to its end. */
export function deadlineOf({ deadlineMs }: { readonly deadlineMs?: number }, config: TasksConfig): number {
  return Math.min(deadlineMs ?? config.deadlineMs, config.deadlineMs);
}

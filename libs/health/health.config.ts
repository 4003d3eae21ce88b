import { Setting, Within } from '#config/setting.js';

/** How often a process checks its dependencies. Probes only read the results and cost nothing. */
export class HealthConfig {
  @Setting(
    'HEALTH_CHECK_INTERVAL_MS',
    'How often each process checks Postgres, Redis, and an object store that failed its last check.',
    { unit: 'ms' },
  )
  @Within(200, 60_000)
  readonly checkIntervalMs: number = 5_000;

  @Setting(
    'STORE_CHECK_INTERVAL_MS',
    'How often each process checks a working object store by writing, reading, and deleting a small object.',
    { unit: 'ms' },
  )
  @Within(200, 86_400_000)
  readonly storeCheckIntervalMs: number = 60_000;
}

import { Setting, Within } from '#config/setting.js';

/** How often a process checks its dependencies. Probes only read the results and cost nothing. */
export class HealthConfig {
  @Setting(
    'HEALTH_CHECK_INTERVAL_MS',
    'How often each process checks Postgres, Redis, and an object store that failed its last check. A working store is checked at twelve times this interval, and alerts are evaluated at three times.',
    { who: 'debugging', unit: 'ms' },
  )
  @Within(200, 60_000)
  readonly checkIntervalMs: number = 5_000;
}

import { Setting, Within } from '#config/setting.js';

/** When a circuit breaker opens, and how long a permit is valid; times in ms. */
export class RoutingConfig {
  @Setting('PROVIDER_FAILURES', 'Consecutive failures within five minutes that open a provider’s circuit breaker.', {
    who: 'debugging',
  })
  @Within(1, 1_000)
  readonly failures: number = 5;

  @Setting(
    'PROVIDER_PAUSE_MS',
    'How long a provider’s circuit breaker stays open; doubles with each further failure, up to one minute. A key is paused for half as long after a rate-limit response without Retry-After.',
    { who: 'debugging', unit: 'ms' },
  )
  @Within(100, 60_000)
  readonly pauseMs: number = 10_000;

  /** How long a key is paused after a rate-limit response without Retry-After; doubles each time, up to one minute. */
  get keyPauseMs(): number {
    return Math.ceil(this.pauseMs / 2);
  }

  /** How long the calls of a killed worker still count; fixed: below the lease of its tasks, so that they find free slots. */
  readonly slotLeaseMs: number = 15_000;

  /** How often a process reads which providers are drained; fixed: an operator's order works within two seconds. */
  readonly switchReadMs: number = 1_000;
}

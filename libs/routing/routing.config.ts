import { Setting, Within } from '#config/setting.js';

/** When a circuit breaker opens, and how long a permit is valid; times in ms. */
export class RoutingConfig {
  @Setting('PROVIDER_FAILURES', 'Consecutive failures that open a provider’s circuit breaker.')
  @Within(1, 1_000)
  readonly failures: number = 5;

  @Setting('PROVIDER_FAILURE_WINDOW_MS', 'Window within which PROVIDER_FAILURES failures open the circuit breaker.', {
    unit: 'ms',
  })
  @Within(100, 3_600_000)
  readonly failureWindowMs: number = 300_000;

  @Setting(
    'PROVIDER_PAUSE_MS',
    'How long a provider’s circuit breaker stays open; doubles with each further failure, up to one minute.',
    { unit: 'ms' },
  )
  @Within(100, 60_000)
  readonly pauseMs: number = 10_000;

  @Setting(
    'PROVIDER_KEY_PAUSE_MS',
    'How long a provider’s key is paused after a rate-limit response without Retry-After; doubles each time, up to one minute.',
    { unit: 'ms' },
  )
  @Within(100, 60_000)
  readonly keyPauseMs: number = 5_000;

  @Setting('PROVIDER_SLOT_LEASE_MS', 'How long the calls of a killed worker still count toward a provider’s limits.', {
    unit: 'ms',
  })
  @Within(200, 20_000)
  readonly slotLeaseMs: number = 15_000;

  @Setting('PROVIDER_SWITCH_READ_MS', 'How often a process checks which providers are drained.', { unit: 'ms' })
  @Within(100, 2_000)
  readonly switchReadMs: number = 1_000;
}

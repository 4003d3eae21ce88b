import type { ProviderEntry } from '#providers/provider-entry.js';

/** Starts that are remembered of a provider without a limit on them, for those who look. */
export const STARTS_KEPT = 10_000;

/**
 * Why a call may not begin now:
 * - `drained`: somebody switched the provider off
 * - `open`: it failed so often that it is left alone for a while
 * - `cooling`: it refused this key; its other keys may do
 * - `busy`: as many calls are running as may
 * - `rate`: as many calls were begun in the last minute as may
 */
export type RefusalReason = 'drained' | 'open' | 'cooling' | 'busy' | 'rate';

/** Why a provider may not be called now. */
export interface CallRejection {
  readonly reason: RefusalReason;
  /** Milliseconds after which it makes sense to ask again. */
  readonly retryAfterMs: number;
}

/**
 * How a call ended, as far as others should know:
 * - `succeeded`: closes the breaker, and forgets that the key was refused
 * - `failed`: the provider's fault, which counts for the breaker
 * - `key_refused`: 401, 402, 403 or 429: this key cools down
 * - `neutral`: the caller's fault, ours, or an abort: changes nothing
 */
export type CallOutcome = 'succeeded' | 'failed' | 'key_refused' | 'neutral';

/** The right to one call. Ends with the first of its two methods; what comes later does nothing. Neither throws. */
export interface CallPermit {
  /** `retryAfterMs`: how long the provider said that a refused key should wait. */
  end(outcome: CallOutcome, retryAfterMs?: number): void;
  /** The provider works on without us: the call keeps its slot for so many milliseconds, or until the task resumes. */
  park(ms: number): void;
}

/** Injection token of the Limiter; processes provide ProviderLimiter. */
export const LIMITER = Symbol('limiter');

/** Asked before each call to a provider, and told how it ended. */
export interface Limiter {
  /**
   * Asks for one call with a key of a provider, by the key's name; the empty name where there are no keys. A task has
   * one slot of a provider, however often it asks. A call that `resume`s what the provider works on already is never
   * refused and is no start. `evenDrained`: an operator tries the provider out. Never throws.
   */
  enter(
    entry: ProviderEntry,
    keyName: string,
    taskId: string,
    options?: { readonly resume?: boolean; readonly evenDrained?: boolean },
  ): Promise<CallPermit | CallRejection>;
}

import type { QueueCaller } from '#queue/fair-order.js';

/** Starts that are remembered for a provider without a limit on them, only to be shown. */
export const STARTS_KEPT = 10_000;

/**
 * Why a call may not begin now:
 * - `drained`: an operator switched the provider off, or all servers that the call may use
 * - `open`: the breaker of a server is open after repeated failures
 * - `cooling`: it refused this key; its other keys may work
 * - `busy`: its limit of running calls is reached, or others come first
 * - `rate`: its limit of calls begun in the last minute is reached
 * Of several servers and keys, the reason that ends first counts.
 */
export type RefusalReason = 'drained' | 'open' | 'cooling' | 'busy' | 'rate';

/** Why a provider may not be called now. */
export interface CallRejection {
  readonly reason: RefusalReason;
  /** Milliseconds after which it makes sense to ask again. */
  readonly retryAfterMs: number;
}

/**
 * How a call ended, as far as it affects later calls:
 * - `succeeded`: closes the breaker, and clears the key's refusals
 * - `failed`: the provider's fault, which counts toward the breaker
 * - `key_refused`: 401, 402, 403 or 429: this key cools down; after a call of an image job for images alone
 * - `neutral`: the caller's fault, ours, or an abort: changes nothing
 */
export type CallOutcome = 'succeeded' | 'failed' | 'key_refused' | 'neutral';

/** Permission for one call. The first call of either method ends it; later ones do nothing. Neither throws. */
export interface CallPermit {
  /** `retryAfterMs`: how long the provider said to wait before using a refused key again. */
  end(outcome: CallOutcome, retryAfterMs?: number): void;
  /**
   * The provider keeps working without us: the call keeps its slot for `ms`, or until the task resumes. `outcome`: how
   * the check of its job went, `neutral` if absent.
   */
  park(ms: number, outcome?: CallOutcome, retryAfterMs?: number): void;
}

/** How a call asks for its permit. */
export interface Asking {
  /** The provider is already working on its job. */
  readonly resume?: boolean;
  /** An operator is testing the provider: passes its switch, and the pauses of its breaker and keys. */
  readonly isTest?: boolean;
  /** Whose turn it takes; absent: its own turn is after all that wait. */
  readonly caller?: QueueCaller | undefined;
  /** The job by which its task will come back after a rejection, and which is called when it is its turn. */
  readonly jobId?: string;
  /** Milliseconds until its task's deadline. */
  readonly remainingMs?: number;
  /** What a server must load for it, if it has not loaded that for the call before; empty: nothing. */
  readonly needs?: string;
}

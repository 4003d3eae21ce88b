/**
 * What a task that has not begun waits for: its place in line for a worker, a worker (none is running), a provider (all
 * that could generate it reject calls), its next attempt, the queue (Redis does not answer), or an approval (it may cost more
 * than its key or account may spend without one).
 */
export const WAITS_FOR = ['line', 'worker', 'provider', 'retry', 'queue', 'approval'] as const;

/**
 * Why a provider takes no call now:
 * - `drained`: an operator paused it
 * - `unavailable`: its circuit breaker is not closed
 * - `key_rejected`: it refuses its keys for now, or they are at their limit (401, 402, 403, 429)
 * - `busy`: as many calls are running as it may have
 * - `rate`: as many calls began in the last minute as it may have
 */
export const PROVIDER_WAITS = ['busy', 'rate', 'key_rejected', 'unavailable', 'drained'] as const;

/** Why a task has not begun, as every page and alert says it (`waitingText`). */
export interface WaitingReason {
  readonly for: (typeof WAITS_FOR)[number];
  /** Of `provider`: its name in the catalog, and why it takes no call. */
  readonly provider: string | null;
  readonly why: (typeof PROVIDER_WAITS)[number] | null;
  /** ISO 8601: when the next call may begin; null if unknown. */
  readonly next_try_at: string | null;
  /** Of `busy`: how many calls may run at once. Of `rate`: how many may begin in a minute. */
  readonly limit: number | null;
}

/** Why tasks wait, how many do, and for how long the oldest of them has. */
export interface WaitingGroup {
  readonly reason: WaitingReason;
  readonly count: number;
  readonly oldest_seconds: number;
}

/** A reason without details. */
export function waitingFor(what: WaitingReason['for'], details: Partial<WaitingReason> = {}): WaitingReason {
  return { for: what, provider: null, why: null, next_try_at: null, limit: null, ...details };
}

/**
 * "Waiting for studio: unavailable, next try in 19 s". `now`: in ms since the epoch; absent in a text that is read later,
 * which says no time.
 */
export function waitingText(reason: WaitingReason, now?: number, position?: number | null): string {
  switch (reason.for) {
    case 'line':
      return typeof position === 'number' ? `Waiting in line, position ${position}` : 'Waiting in line';
    case 'worker':
      return 'Waiting for a worker';
    case 'queue':
      return 'Waiting for the queue, which does not answer';
    case 'approval':
      return 'Waiting for approval';
    case 'retry':
      return now === undefined ? 'Waiting to try again' : `Waiting to try again ${whenOf(reason, now)}`;
    case 'provider':
      return `Waiting for ${reason.provider ?? 'a provider'}: ${obstacleOf(reason, now)}`;
  }
}

/** What keeps a provider from taking calls: "drained by an operator", "4 of 4 calls in use". */
function obstacleOf(reason: WaitingReason, now: number | undefined): string {
  const { why, limit } = reason;
  const next = now === undefined ? '' : `, next try ${whenOf(reason, now)}`;
  switch (why) {
    case 'busy':
      return `${limit ?? 0} of ${limit ?? 0} calls in use`;
    case 'rate':
      return `limit of ${limit ?? 0} per minute`;
    case 'key_rejected':
      return `its key is refused or at its limit${next}`;
    case 'drained':
      return 'drained by an operator';
    case 'unavailable':
    case null:
      return `unavailable${next}`;
  }
}

/** "in 19 s", or "soon" when the time has come or is unknown. */
function whenOf({ next_try_at: time }: WaitingReason, now: number): string {
  const seconds = time === null ? 0 : Math.ceil((Date.parse(time) - now) / 1_000);
  return seconds > 0 ? `in ${seconds} s` : 'soon';
}

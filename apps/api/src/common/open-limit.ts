import { AppError } from '#contract/app-error.js';
import { FairSemaphore } from '#limits/fair-semaphore.js';

/** Seconds after which a rejected caller may retry. */
const RETRY_AFTER = 2;

/**
 * Limits what each source (`sourceOf`) has open on this process at once: rates limit only how fast it opens. `enter`
 * throws AppError `concurrency_limit_exceeded` at the limit.
 */
export class OpenLimit extends FairSemaphore {
  /** `limit`: per source, 0 = unlimited; `what` it is, in the plural. */
  constructor(limit: number, what: string) {
    const placesOfOne = limit === 0 ? Infinity : limit;
    super({ places: Infinity, placesOfOne, waiting: 0, waitingOfOne: 0, waitMs: 0 }, () => {
      const message = `The account is limited to ${limit} ${what}.`;
      return new AppError('concurrency_limit_exceeded', message, { retryAfter: RETRY_AFTER });
    });
  }
}

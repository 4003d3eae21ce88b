import { Injectable, Optional } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { unavailable } from '#contract/unavailable.js';
import { FairSemaphore } from '#limits/fair-semaphore.js';

/**
 * Passwords hashed at the same time in one process. Hashing shares the four threads of libuv with file reads, which
 * need the others.
 */
const AT_ONCE = 2;
/** How many requests may wait: in all, and from one network, so that guessing from one leaves room for others. */
const WAITING = 128;
const WAITING_OF_ONE = 32;
const RETRY_SECONDS = 2;

/**
 * Limits concurrent password hashing, by network. Throws AppError `server_is_overloaded` when too many wait already.
 */
@Injectable()
export class PasswordHashLimiter extends FairSemaphore {
  constructor(
    @Optional() places: number = AT_ONCE,
    @Optional() waiting: number = WAITING,
    @Optional() waitingOfOne: number = WAITING_OF_ONE,
  ) {
    super({ places, placesOfOne: places, waiting, waitingOfOne, waitMs: Infinity }, tooMany);
  }
}

function tooMany(): AppError {
  const text = 'Too many users are signing in right now. Please try again shortly.';
  return unavailable(text, { retryAfter: RETRY_SECONDS });
}

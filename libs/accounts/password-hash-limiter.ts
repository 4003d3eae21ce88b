import { Injectable, Optional } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';

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
 * Limits concurrent password hashing. Waiting networks take turns; requests from one network run in order of arrival.
 */
@Injectable()
export class PasswordHashLimiter {
  private running = 0;
  private waiting = 0;
  /** By network; the next one to run is first. */
  private readonly queues = new Map<string, (() => void)[]>();

  constructor(
    @Optional() private readonly atOnce: number = AT_ONCE,
    @Optional() private readonly maxWaiting: number = WAITING,
    @Optional() private readonly maxOfOne: number = WAITING_OF_ONE,
  ) {}

  /** Runs `work` once there is a place. Throws AppError `server_is_overloaded` when too many wait already. */
  async run<T>(network: string, work: () => Promise<T>): Promise<T> {
    await this.enter(network);
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  private async enter(network: string): Promise<void> {
    if (this.running < this.atOnce) {
      this.running += 1;
      return;
    }
    const queue = this.queues.get(network) ?? [];
    if (this.waiting >= this.maxWaiting || queue.length >= this.maxOfOne) {
      throw new AppError('server_is_overloaded', 'Too many users are signing in right now. Please try again shortly.', {
        retryAfter: RETRY_SECONDS,
      });
    }
    this.waiting += 1;
    this.queues.set(network, queue);
    await new Promise<void>((resolve) => queue.push(resolve));
  }

  /** Passes the place to the next waiting request, or frees it. */
  private leave(): void {
    const [next] = this.queues;
    if (next === undefined) {
      this.running -= 1;
      return;
    }
    const [network, queue] = next;
    this.queues.delete(network);
    this.waiting -= 1;
    const enter = queue.shift();
    if (queue.length > 0) this.queues.set(network, queue);
    enter?.();
  }
}

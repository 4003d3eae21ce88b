import { Injectable } from '@nestjs/common';
import { AttemptLimiter } from '#limits/attempt-limiter.js';

const CHANGES = 20;
const SECONDS = 3_600;

/** Limits how often users change names of their own, each of which makes an entry in the audit log. */
@Injectable()
export class ProfileLimits {
  constructor(private readonly attempts: AttemptLimiter) {}

  /** Counts a change. Throws AppError `rate_limit_exceeded`. */
  async admit(signInId: string): Promise<void> {
    await this.attempts.admit(`profile:${signInId}`, CHANGES, SECONDS);
  }
}

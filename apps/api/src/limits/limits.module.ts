import { Module } from '@nestjs/common';
import { QueueModule } from '#queue/queue.module.js';
import { ATTEMPT_WINDOW_SECONDS, AttemptLimiter } from '#limits/attempt-limiter.js';
import { RequestLimits } from './limit-requests.js';
import { RateCounter } from '#limits/rate-counter.js';

/** How many requests a key, an account or a network may send, and what people may do by hand. */
@Module({
  imports: [QueueModule],
  providers: [RateCounter, RequestLimits, AttemptLimiter, { provide: ATTEMPT_WINDOW_SECONDS, useValue: 900 }],
  exports: [RateCounter, RequestLimits, AttemptLimiter],
})
export class LimitsModule {}

import { Injectable } from '@nestjs/common';
import { QueueHealth } from '#queue/queue-health.js';
import { Logger } from '#telemetry/logger.js';
import { LimiterState } from './limiter-state.js';

/** The limiter state that all processes share, for as long as Redis answers. */
@Injectable()
export class SharedLimiter {
  private degraded = false;

  constructor(
    private readonly state: LimiterState,
    private readonly health: QueueHealth,
    private readonly logger: Logger,
  ) {}

  /** Runs `work` on the shared state; undefined without Redis, which is logged once per outage. Never throws. */
  async tell<T>(work: (state: LimiterState) => Promise<T>): Promise<T | undefined> {
    if (!this.health.accepting) return this.withoutRedis();
    try {
      const answer = await work(this.state);
      this.withRedis();
      return answer;
    } catch (error) {
      this.health.reportFailure();
      return this.withoutRedis(error);
    }
  }

  /** Ignores a late answer while Redis counts as down, because the next call may still not be counted. */
  private withRedis(): void {
    if (!this.degraded || !this.health.accepting) return;
    this.logger.info('limiter.counts_again');
    this.degraded = false;
  }

  private withoutRedis(error?: unknown): undefined {
    if (!this.degraded) this.logger.warn('limiter.without_redis', { error });
    this.degraded = true;
  }
}

import { Injectable } from '@nestjs/common';
import { QueueHealth } from '#queue/queue-health.js';
import { Logger } from '#telemetry/logger.js';
import { LimiterState } from './limiter-state.js';

/** What all processes share of the limiter, for as long as Redis answers. */
@Injectable()
export class SharedLimiter {
  private blind = false;

  constructor(
    private readonly state: LimiterState,
    private readonly health: QueueHealth,
    private readonly logger: Logger,
  ) {}

  /** Undefined without Redis, which is told once per outage. Never throws. */
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

  /** A late answer while Redis is taken for down does not mean that the next call is counted. */
  private withRedis(): void {
    if (!this.blind || !this.health.accepting) return;
    this.logger.info('limiter.counts_again');
    this.blind = false;
  }

  private withoutRedis(error?: unknown): undefined {
    if (!this.blind) this.logger.warn('limiter.without_redis', { error });
    this.blind = true;
  }
}

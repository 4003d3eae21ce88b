import { Injectable } from '@nestjs/common';
import { QueueHealth } from '#queue/queue-health.js';
import { Logger } from '#telemetry/logger.js';
import { GateState } from './gate-state.js';

/** What all processes share of the gate, for as long as Redis answers. */
@Injectable()
export class SharedGate {
  private blind = false;

  constructor(
    private readonly state: GateState,
    private readonly health: QueueHealth,
    private readonly logger: Logger,
  ) {}

  /** Undefined without Redis, which is told once per outage. Never throws. */
  async tell<T>(work: (state: GateState) => Promise<T>): Promise<T | undefined> {
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
    this.logger.info('gate.counts_again');
    this.blind = false;
  }

  private withoutRedis(error?: unknown): undefined {
    if (!this.blind) this.logger.warn('gate.without_redis', { error });
    this.blind = true;
  }
}

import { randomBytes } from 'node:crypto';
import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { LISTENING_REDIS } from '#redis/redis.module.js';
import { DepartedCallers } from '#tasks/intake/departed-callers.js';
import { LostCallers } from '#tasks/intake/lost-callers.js';
import { RetractTasks } from '#tasks/intake/retract-tasks.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { Logger } from '#telemetry/logger.js';

/**
 * Announces that this process still waits for its callers, tells other processes which of them have left, and marks the
 * tasks of processes that were killed.
 */
@Injectable()
export class CallerPresence implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> = Promise.resolve();

  constructor(
    @Inject(LISTENING_REDIS) private readonly redis: Redis,
    private readonly lost: LostCallers,
    private readonly departed: DepartedCallers,
    private readonly retract: RetractTasks,
    private readonly config: TasksConfig,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    const name = randomBytes(9).toString('base64url');
    this.redis.on('message', (channel: string, message: string) => {
      if (channel === this.lost.channelOf(name)) void this.receive(message);
    });
    // Waits for Redis indefinitely; ioredis subscribes again after a reconnect.
    this.redis.subscribe(this.lost.channelOf(name)).then(
      () => (this.lost.waiter = name),
      () => undefined,
    );
    this.timer = setInterval(() => (this.looking = this.look()), this.config.sweepIntervalMs);
  }

  /** Runs before anything is closed. */
  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.looking;
  }

  /** A question that stays without an answer counts as one: the callers that it is about are lost. */
  private async receive(message: string): Promise<void> {
    try {
      await this.lost.receive(message, async (fingerprint) => {
        await this.departed.waitForAllMarks(fingerprint);
        await this.retract.retractNow();
      });
    } catch (error) {
      this.logger.warn('callers.not_asked', { error });
    }
  }

  private async look(): Promise<void> {
    // After a failover, the subscription may be on a server that is no longer the master.
    if (this.redis.status === 'ready' && !(await this.lost.isHeard())) this.redis.disconnect(true);
    await this.lost.markAll().catch((error: unknown) => this.logger.warn('sweep.failed', { error }));
  }
}

import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { TaskEvents } from '#tasks/states/task-events.js';
import { Logger } from '#telemetry/logger.js';
import { Attempt, identity } from './attempt.js';
import { attemptSpan } from './attempt-span.js';
import { Leases } from './leases.js';
import { ProviderStarts } from './provider-starts.js';
import { TaskMeter } from './task-meter.js';

/** Starts this worker's attempts. */
@Injectable()
export class ClaimTask {
  private readonly owner = randomUUID();

  constructor(
    private readonly leases: Leases,
    private readonly events: TaskEvents,
    private readonly meter: TaskMeter,
    private readonly starts: ProviderStarts,
    private readonly logger: Logger,
  ) {}

  /**
   * Undefined when the task could not be claimed. `queuedAt`: when its job was added, in ms since the epoch, if known.
   * Throws when the database does not answer.
   */
  async claim(taskId: string, queuedAt?: number): Promise<Attempt | undefined> {
    const claimed = await this.leases.claim(taskId, this.owner, this.starts.firstCalls());
    if (claimed === undefined) {
      this.logger.debug('task.not_claimed', { taskId });
      return undefined;
    }
    const span = attemptSpan(claimed, queuedAt);
    this.events.publishChanged(taskId);
    this.meter.claimed(claimed);
    this.logger.info('task.claimed', { ...identity(claimed), attempt: claimed.attempt });
    const lease = { id: claimed.task.id, attempt: claimed.attempt };
    return new Attempt(claimed, this.leases.keep(lease, claimed.remainingMs), span);
  }
}

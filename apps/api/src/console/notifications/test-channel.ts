import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { AppError } from '#contract/app-error.js';
import { testMessage } from '#notifications/alerts/alert-event.repository.js';
import { EnqueueDeliveries } from '#notifications/deliveries/enqueue-deliveries.js';
import { NewDeliveries } from '#notifications/deliveries/new-deliveries.js';
import type { AlertChannel } from '#notifications/endpoint-store.js';
import { MailLimits } from '../sign-in/mail-limits.js';

/** Sends a test alert to a channel. */
@Injectable()
export class TestChannel {
  constructor(
    private readonly deliveries: NewDeliveries,
    private readonly queue: EnqueueDeliveries,
    private readonly limits: MailLimits,
  ) {}

  /**
   * Returns the id of its delivery. Throws AppError `invalid_value` for a channel that responded with 410, and
   * `rate_limit_exceeded`.
   */
  async send(accountId: string, { id, address }: Pick<AlertChannel, 'id' | 'address'>): Promise<string> {
    await this.limits.admit(accountId, address);
    const message = testMessage(randomUUID().replaceAll('-', ''), new Date());
    const entry = await this.deliveries.addMessage(accountId, id, message);
    if (entry === undefined)
      throw new AppError(
        'invalid_value',
        'The channel is turned off because its receiver returned 410. Remove it and add it again.',
      );
    await this.queue.enqueue(entry);
    return entry.deliveryId;
  }
}

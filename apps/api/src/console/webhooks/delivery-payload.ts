import { Injectable } from '@nestjs/common';
import { TaskLinks } from '#answers/task-links.js';
import { AppError } from '#contract/app-error.js';
import type { WebhookEvent, WebhookTestEvent } from '#contract/webhook-event.js';
import { TaskStore } from '#tasks/task-store.js';
import { DeliveryLogStore } from '#webhooks/delivery-log-store.js';

/** The bodies of webhooks. They are not stored: each attempt writes its own, with links of its own. */
@Injectable()
export class DeliveryPayload {
  constructor(
    private readonly deliveryLog: DeliveryLogStore,
    private readonly tasks: TaskStore,
    private readonly links: TaskLinks,
  ) {}

  /** What an attempt would send now. Throws AppError `not_found` when the delivery or its task is no more. */
  async of(accountId: string, id: string): Promise<WebhookEvent | WebhookTestEvent> {
    const delivery = await this.deliveryLog.find(accountId, id);
    if (delivery === undefined) throw new AppError('not_found', 'There is no such delivery.');
    const { taskId } = delivery;
    const event = this.links.event(delivery, taskId === null ? undefined : await this.tasks.find(accountId, taskId));
    if (event === undefined) throw new AppError('not_found', 'Its task is no longer kept.');
    return event;
  }
}

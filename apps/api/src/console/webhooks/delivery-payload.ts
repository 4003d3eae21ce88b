import { Injectable } from '@nestjs/common';
import { TaskLinks } from '#answers/task-links.js';
import { AppError } from '#contract/app-error.js';
import type { WebhookEvent, WebhookTestEvent } from '#contract/webhook-event.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import type { TaskScope } from '#tasks/row/task.js';
import { VisibleDeliveries } from './visible-deliveries.js';

/** The bodies of webhooks. They are not stored: each attempt creates its own, with new links. */
@Injectable()
export class DeliveryPayload {
  constructor(
    private readonly deliveries: VisibleDeliveries,
    private readonly tasks: TaskStore,
    private readonly links: TaskLinks,
  ) {}

  /**
   * The body that an attempt would send now. Throws AppError `not_found` when the delivery or its task no longer
   * exists.
   */
  async of(scope: TaskScope, id: string): Promise<WebhookEvent | WebhookTestEvent> {
    const delivery = await this.deliveries.find(scope, id);
    const { taskId } = delivery;
    const task = taskId === null ? undefined : await this.tasks.find(scope, taskId);
    const event = this.links.event(delivery, task);
    if (event === undefined) throw new AppError('not_found', 'Its task is no longer stored.');
    return event;
  }
}

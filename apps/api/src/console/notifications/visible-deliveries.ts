import { Injectable } from '@nestjs/common';
import { TaskLinks } from '#answers/task-links.js';
import { webhookBody } from '#answers/webhook-body.js';
import { AppError } from '#contract/app-error.js';
import type { WebhookEvent, WebhookTestEvent } from '#contract/webhook-event.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import { isDeleted, taskDeleted, type TaskScope } from '#tasks/row/task.js';
import { DeliveryLog, type DeliveryQuery, type LoggedDelivery } from '#notifications/deliveries/delivery-log.js';
import { withCallbackUrls } from '../tasks/callback-urls.js';
import { deliveryView, type DeliveryPage } from './dto/webhook-views.dto.js';

/**
 * Maximum number of deliveries that one request reads, and the batch size, for users who may see only a few of them.
 */
const MAX_SCANNED = 2_000;
const BATCH = 100;

/**
 * Deliveries of tasks that a user may see, and endpoint tests, which have no task. Any other delivery is `not_found`.
 */
@Injectable()
export class VisibleDeliveries {
  constructor(
    private readonly deliveries: DeliveryLog,
    private readonly tasks: TaskStore,
    private readonly links: TaskLinks,
  ) {}

  /** One page. For a member it may have few or no entries and still be followed by more. */
  async page(scope: TaskScope, query: DeliveryQuery): Promise<DeliveryPage> {
    const { limit } = query;
    const found: LoggedDelivery[] = [];
    const batch = scope.own === undefined ? limit + 1 : BATCH;
    let after = query.after;
    let isEnd = false;
    let looked = 0;
    while (!isEnd && found.length <= limit && looked < MAX_SCANNED) {
      const rows = await this.deliveries.list(scope.accountId, { ...query, after, limit: batch });
      found.push(...(await this.visible(scope, rows)));
      after = rows.at(-1)?.id;
      isEnd = rows.length < batch;
      looked += rows.length;
    }
    const shown = await withCallbackUrls(this.tasks, scope.accountId, found.slice(0, limit));
    const last = found.length > limit ? shown.at(-1)?.id : isEnd ? undefined : after;
    return { data: shown.map(deliveryView), has_more: last !== undefined, next: last ?? null };
  }

  /** One that may be sent again. Throws AppError `not_found`, and `task_deleted` when its task was deleted. */
  async findToResend(scope: TaskScope, id: string) {
    const delivery = await this.find(scope, id);
    await this.taskOf(scope, delivery.taskId);
    return delivery;
  }

  /** Throws AppError `not_found`. */
  async find(scope: TaskScope, id: string) {
    const delivery = await this.deliveries.find(scope.accountId, id);
    const [visible] = delivery === undefined ? [] : await this.visible(scope, [delivery]);
    if (visible === undefined) throw new AppError('not_found', 'Delivery not found.');
    return visible;
  }

  /**
   * The body that an attempt would send now: it is not stored, each attempt creates its own, with new links. Throws
   * AppError `not_found` when the delivery or its task no longer exists, and `task_deleted`.
   */
  async payload(scope: TaskScope, id: string): Promise<WebhookEvent | WebhookTestEvent> {
    const delivery = await this.find(scope, id);
    const event = webhookBody(delivery, await this.taskOf(scope, delivery.taskId), this.links);
    if (event === undefined) throw new AppError('not_found', 'Its task is no longer stored.');
    return event;
  }

  private async taskOf(scope: TaskScope, taskId: string | null) {
    const task = taskId === null ? undefined : await this.tasks.find(scope, taskId);
    if (task !== undefined && isDeleted(task)) throw taskDeleted(task.id);
    return task;
  }

  private async visible<Row extends Pick<LoggedDelivery, 'taskId'>>(scope: TaskScope, rows: readonly Row[]) {
    const tasks = await this.tasks.within(
      scope,
      rows.flatMap(({ taskId }) => taskId ?? []),
    );
    return rows.filter(({ taskId }) => taskId === null || tasks.has(taskId));
  }
}

import { Inject, Injectable } from '@nestjs/common';
import { TaskLinks } from '#answers/task-links.js';
import { timelineOf } from '#answers/task-timeline.js';
import type { TaskView } from '#contract/task-view.js';
import { MAX_PROMPT_LENGTH } from '#contract/text-rules.js';
import { Database } from '#database/database.js';
import type { QueuePlace } from '#queue/queue-line.js';
import { TaskDetails, type TaskDetail } from '#tasks/task-details.js';
import { TaskStore, type TaskListQuery } from '#tasks/task-store.js';
import type { TaskSummary } from '#tasks/task.js';
import { DeliveryLogStore } from '#webhooks/delivery-log-store.js';
import { WebhookEndpointStore } from '#webhooks/endpoint-store.js';
import { ApiConfig, publicUrlOf } from '../http/api.config.js';
import {
  optionsView,
  taskRow,
  type ConsoleTaskPage,
  type ConsoleTaskView,
  type TaskDeliveryView,
} from './task-views.js';

const SHOWN_PROMPT = 200;
const MAX_DELIVERIES = 100;

/** An account's tasks as its people see them. */
@Injectable()
export class AccountTasks {
  private readonly details: TaskDetails;
  private readonly deliveryLog: DeliveryLogStore;
  private readonly endpoints: WebhookEndpointStore;
  private readonly origin: string;

  constructor(
    @Inject(TaskStore) private readonly tasks: TaskStore,
    @Inject(TaskLinks) private readonly links: TaskLinks,
    @Inject(Database) database: Database,
    @Inject(ApiConfig) config: ApiConfig,
  ) {
    this.details = new TaskDetails(database.pool);
    this.deliveryLog = new DeliveryLogStore(database.pool);
    this.endpoints = new WebhookEndpointStore(database.pool);
    this.origin = publicUrlOf(config);
  }

  async list(accountId: string, query: TaskListQuery): Promise<ConsoleTaskPage> {
    const { tasks, hasMore } = await this.tasks.list(accountId, query);
    const details = await this.details.of(
      accountId,
      tasks.map(({ id }) => id),
      SHOWN_PROMPT,
    );
    const data = tasks.map((task) =>
      taskRow(task, this.links.view(task), details.get(task.id) ?? lost(task.id), this.thumbnailOf(task)),
    );
    return { data, has_more: hasMore, next: hasMore ? (tasks.at(-1)?.id ?? null) : null };
  }

  /** A whole task; its place in the queue is given, if it has one. */
  async view(accountId: string, task: TaskSummary, place?: QueuePlace): Promise<ConsoleTaskView> {
    const [details, history, deliveries, redrivenAs] = await Promise.all([
      this.details.of(accountId, [task.id], MAX_PROMPT_LENGTH),
      this.tasks.history(accountId, task.id),
      this.deliveryLog.list(accountId, { taskId: task.id, limit: MAX_DELIVERIES }),
      task.status === 'failed' ? this.details.redrivenAs(accountId, task.id) : undefined,
    ]);
    const detail = details.get(task.id) ?? lost(task.id);
    const view = this.links.view(task, place);
    return {
      ...taskRow(task, view, detail, this.thumbnailOf(task)),
      request_id: task.requestId,
      options: optionsView(task.options),
      ...(view.queue_position === undefined ? {} : { queue_position: view.queue_position }),
      ...(view.estimated_time === undefined ? {} : { estimated_time: view.estimated_time }),
      ...(view.sizes === undefined ? {} : { sizes: view.sizes }),
      images: this.picturesOf(view),
      warnings: view.warnings ?? [],
      redrive_of: detail.redriveOf,
      redriven_as: redrivenAs ?? null,
      ...(view.error === undefined ? {} : { error: view.error }),
      timeline: history === undefined ? [] : timelineOf(history),
      webhook_deliveries: deliveries.length === 0 ? [] : await this.deliveriesOf(accountId, detail, deliveries),
    };
  }

  private async deliveriesOf(
    accountId: string,
    { callbackUrl }: TaskDetail,
    deliveries: Awaited<ReturnType<DeliveryLogStore['list']>>,
  ): Promise<TaskDeliveryView[]> {
    const urls = new Map((await this.endpoints.list(accountId)).map(({ id, url }) => [id, url]));
    return deliveries.map(({ id, endpointId, state, createdAt, attempts }) => {
      const last = attempts.at(-1);
      const end = last === undefined ? undefined : new Date(last.startedAt.getTime() + (last.durationMs ?? 0));
      return {
        id,
        url: endpointId === null ? callbackUrl : (urls.get(endpointId) ?? null),
        status: state,
        attempts: attempts.length,
        last_status: last?.status ?? null,
        created_at: createdAt.toISOString(),
        delivered_at: state === 'delivered' ? (end?.toISOString() ?? null) : null,
      };
    });
  }

  private picturesOf({ result }: TaskView): ConsoleTaskView['images'] {
    return (result?.images ?? []).flatMap(({ url: [url], size, content_type }) =>
      url === undefined ? [] : [{ url: this.ownPath(url), size, content_type }],
    );
  }

  /** The picture itself: no small copies are kept. */
  private thumbnailOf(task: TaskSummary): string | undefined {
    const [image] = task.status === 'completed' ? (task.images ?? []) : [];
    if (image === undefined) return undefined;
    const { url } = this.links.linkTo(task, image);
    return url === undefined ? undefined : this.ownPath(url);
  }

  /** A link to this service without its name: pages may be open under another one, which their policy asks for. */
  private ownPath(url: string): string {
    return url.startsWith(`${this.origin}/`) ? url.slice(this.origin.length) : url;
  }
}

/** What is shown of a task whose row went between two reads. */
function lost(id: string): TaskDetail {
  return { id, prompt: '', keyId: '', keyName: '', callbackUrl: null, redriveOf: null };
}

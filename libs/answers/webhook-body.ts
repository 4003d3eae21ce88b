import {
  WEBHOOK_TEST,
  webhookEvent,
  webhookTestEvent,
  type SentEventType,
  type WebhookEvent,
  type WebhookEventType,
  type WebhookTestEvent,
} from '#contract/webhook-event.js';
import { isDeleted, type TaskSummary } from '#tasks/row/task.js';
import type { TaskLinks } from './task-links.js';

/** The part of a delivery that its body depends on. */
interface DeliverySummary {
  readonly id: string;
  readonly endpointId: string | null;
  readonly event: SentEventType;
  readonly createdAt: Date;
}

/** The body of a webhook about a task or an endpoint test. Undefined while the task is pending, or if it is deleted. */
export function webhookBody(
  { id, endpointId, event, createdAt }: DeliverySummary,
  task: TaskSummary | undefined,
  links: TaskLinks,
): WebhookEvent | WebhookTestEvent | undefined {
  if (event === WEBHOOK_TEST) return webhookTestEvent(id, endpointId ?? '', createdAt);
  if (task === undefined || task.finishedAt === null || isDeleted(task) || !isOfTask(event)) return undefined;
  return webhookEvent(event, task.finishedAt, links.view(task));
}

function isOfTask(type: SentEventType): type is WebhookEventType {
  return type.startsWith('image.task.');
}

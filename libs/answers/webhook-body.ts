import {
  HELD_EVENT,
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

/**
 * The body of a webhook about a task or an endpoint test. Undefined if the task is deleted, and while it is pending, except
 * for the event that it waits for an approval.
 */
export function webhookBody(
  { id, endpointId, event, createdAt }: DeliverySummary,
  task: TaskSummary | undefined,
  links: TaskLinks,
): WebhookEvent | WebhookTestEvent | undefined {
  if (event === WEBHOOK_TEST) return webhookTestEvent(id, endpointId ?? '', createdAt);
  if (task === undefined || isDeleted(task) || !isOfTask(event)) return undefined;
  if (event === HELD_EVENT) return webhookEvent(event, createdAt, links.view(task));
  if (task.finishedAt === null) return undefined;
  return webhookEvent(event, task.finishedAt, links.view(task));
}

function isOfTask(type: SentEventType): type is WebhookEventType {
  return type.startsWith('image.task.');
}

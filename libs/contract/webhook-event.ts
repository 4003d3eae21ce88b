import { ApiProperty } from '@nestjs/swagger';
import { unixSeconds } from './image-result.js';
import { TaskView } from './task-view.js';

/** What is told: that a task has ended, and how. */
export const WEBHOOK_EVENTS = ['image.task.completed', 'image.task.failed', 'image.task.cancelled'] as const;
export type WebhookEventType = (typeof WEBHOOK_EVENTS)[number];

/** The body of a webhook (contract section 9), as OpenAI's own look and as Standard Webhooks asks. */
export class WebhookEvent {
  @ApiProperty({ example: 'evt_01JD0Z8Q4M0W3E5V6T7R8Y9X0A', description: 'The header webhook-id too.' })
  id!: string;

  @ApiProperty({ enum: ['event'] })
  object!: 'event';

  @ApiProperty({ enum: WEBHOOK_EVENTS })
  type!: WebhookEventType;

  @ApiProperty({ type: 'integer', description: 'When the task ended, unix seconds.' })
  created_at!: number;

  @ApiProperty({ format: 'date-time', description: 'When the task ended.' })
  timestamp!: string;

  @ApiProperty({ type: TaskView, description: 'The task as GET /v1/tasks/{id} shows it at this moment.' })
  data!: TaskView;
}

/** A task ends once, so its id names its event: the same for all receivers, attempts and resends. */
export function webhookEventId(taskId: string): string {
  return taskId.replace(/^task_/, 'evt_');
}

/** What a receiver is told of a task that has ended. */
export function webhookEvent(type: WebhookEventType, endedAt: Date, data: TaskView): WebhookEvent {
  return {
    id: webhookEventId(data.id),
    object: 'event',
    type,
    created_at: unixSeconds(endedAt),
    timestamp: endedAt.toISOString(),
    data,
  };
}

import { ApiProperty } from '@nestjs/swagger';
import { ALERT_MESSAGES } from './alert-message.js';
import { unixSeconds } from './image-result.js';
import { TaskView } from './task-view.js';

/** Webhook events of tasks, one for each final status: those of an endpoint that names none. */
export const END_EVENTS = ['image.task.completed', 'image.task.failed', 'image.task.cancelled'] as const;
/** A task begins to wait for an approval. Only for endpoints that ask for it. */
export const HELD_EVENT = 'image.task.held';
export const WEBHOOK_EVENTS = [...END_EVENTS, HELD_EVENT] as const;
export type WebhookEventType = (typeof WEBHOOK_EVENTS)[number];

/** Test event that an endpoint's owner can send; it belongs to no task and can't be subscribed to. */
export const WEBHOOK_TEST = 'webhook.test';
export const SENT_EVENTS = [...WEBHOOK_EVENTS, WEBHOOK_TEST, ...ALERT_MESSAGES] as const;
export type SentEventType = (typeof SENT_EVENTS)[number];

/** The body of a webhook, in the format of OpenAI's webhooks and Standard Webhooks. */
export class WebhookEvent {
  @ApiProperty({ example: 'evt_01JD0Z8Q4M0W3E5V6T7R8Y9X0A', description: 'Same as the `webhook-id` header.' })
  id!: string;

  @ApiProperty({ enum: ['event'] })
  object!: 'event';

  @ApiProperty({ enum: WEBHOOK_EVENTS })
  type!: WebhookEventType;

  @ApiProperty({ type: 'integer', description: 'When the task ended, or was held, in Unix seconds.' })
  created_at!: number;

  @ApiProperty({ format: 'date-time', description: 'When the task ended, or was held.' })
  timestamp!: string;

  @ApiProperty({ type: TaskView, description: 'The task, as returned by GET /v1/tasks/{id} when this was sent.' })
  data!: TaskView;
}

class TestedEndpoint {
  @ApiProperty({ example: 'whe_01JD0Z8Q4M0W3E5V6T7R8Y9X0A', description: 'ID of the tested endpoint.' })
  endpoint_id!: string;
}

/** The body of a test: the envelope of every webhook, with its own type so that receivers can recognize it. */
export class WebhookTestEvent {
  @ApiProperty({ example: 'evt_3f0c9a3e5d5b4c0b8a53a1c0b3b1f7d2', description: 'Same as the `webhook-id` header.' })
  id!: string;

  @ApiProperty({ enum: ['event'] })
  object!: 'event';

  @ApiProperty({ enum: [WEBHOOK_TEST] })
  type!: typeof WEBHOOK_TEST;

  @ApiProperty({ type: 'integer', description: 'When the test was requested, in Unix seconds.' })
  created_at!: number;

  @ApiProperty({ format: 'date-time', description: 'When the test was requested.' })
  timestamp!: string;

  @ApiProperty({ type: TestedEndpoint })
  data!: TestedEndpoint;
}

/**
 * A task ends only once, so its id also identifies its event: it is the same for all receivers, attempts, and resends.
 * A test uses the id of its delivery.
 */
export function webhookEventId(id: string): string {
  return id.replace(/^(task|whd)_/, 'evt_');
}

/** The test event for an endpoint. */
export function webhookTestEvent(deliveryId: string, endpointId: string, at: Date): WebhookTestEvent {
  return {
    id: webhookEventId(deliveryId),
    object: 'event',
    type: WEBHOOK_TEST,
    created_at: unixSeconds(at),
    timestamp: at.toISOString(),
    data: { endpoint_id: endpointId },
  };
}

/** The event of a task that has ended, or begins to wait for an approval. */
export function webhookEvent(type: WebhookEventType, at: Date, data: TaskView): WebhookEvent {
  const id = webhookEventId(data.id);
  return {
    // A receiver that has had this one must not take the end for a repetition.
    id: type === HELD_EVENT ? `${id}_held` : id,
    object: 'event',
    type,
    created_at: unixSeconds(at),
    timestamp: at.toISOString(),
    data,
  };
}

import { ApiProperty } from '@nestjs/swagger';
import { WEBHOOK_EVENTS, WEBHOOK_TEST, type SentEventType, type WebhookEventType } from '#contract/webhook-event.js';
import type { LoggedDelivery } from '#notifications/deliveries/delivery-log.js';
import { RECORD_HOURS } from '#notifications/deliveries/delivery-records.js';
import type { DeliveryCounts } from '#notifications/deliveries/delivery.sql.js';
import type { WebhookEndpoint } from '#notifications/endpoint-store.js';
import {
  ATTEMPT_ERRORS,
  DELIVERY_STATES,
  type AttemptError,
  type DeliveryState,
} from '#notifications/deliveries/next-step.js';
import type { WebhookSecret } from '#notifications/secret-store.js';
import { ListOf, PageOf } from '../../dto/list-views.dto.js';

/** The deliveries of the last `hours`, at most the latest 1,000. */
class EndpointRecordView {
  @ApiProperty({ type: 'integer', example: RECORD_HOURS })
  hours!: number;

  @ApiProperty({ type: 'integer' })
  delivered!: number;

  @ApiProperty({ type: 'integer', description: 'Given up.' })
  failed!: number;

  @ApiProperty({ type: 'integer', description: 'To be tried again: at least one attempt has failed, and none since.' })
  retrying!: number;

  @ApiProperty({ format: 'date-time', description: 'Time of the latest delivery.' })
  last_at!: string;
}

/** An endpoint, and the results of its latest deliveries. */
export class EndpointView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  url!: string;

  @ApiProperty({ enum: WEBHOOK_EVENTS, isArray: true })
  events!: readonly WebhookEventType[];

  @ApiProperty({ format: 'date-time' })
  created_at!: string;

  @ApiProperty({ type: String, nullable: true, format: 'date-time', description: 'Null = active.' })
  disabled_at!: string | null;

  @ApiProperty({ type: String, enum: ['gone', 'owner'], nullable: true, description: 'gone = it returned 410.' })
  disabled_reason!: 'gone' | 'owner' | null;

  @ApiProperty({
    type: String,
    nullable: true,
    format: 'date-time',
    description: 'Since when every attempt has failed; null = the last one was delivered, or there was none.',
  })
  failing_since!: string | null;

  @ApiProperty({ type: EndpointRecordView, nullable: true, description: 'Null without deliveries in this time.' })
  recent!: EndpointRecordView | null;
}

/** All endpoints of the account, newest first. */
export class EndpointListView extends ListOf(EndpointView) {}

class SecretView {
  @ApiProperty()
  id!: string;

  @ApiProperty({ example: 'whsec_...' })
  secret!: string;

  @ApiProperty({ format: 'date-time' })
  created_at!: string;

  @ApiProperty({ type: String, nullable: true, format: 'date-time', description: 'Null = the current secret.' })
  expires_at!: string | null;
}

/** Contains the full secrets, so only admins get it. */
export class SecretListView extends ListOf(SecretView, 'Valid secrets, the current one first; at most two.') {}

class AttemptView {
  @ApiProperty({ type: 'integer' })
  number!: number;

  @ApiProperty({ format: 'date-time' })
  started_at!: string;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'Null while the attempt is running, or if its outcome is unknown.',
  })
  duration_ms!: number | null;

  @ApiProperty({ type: 'integer', nullable: true, description: 'HTTP status of the response.' })
  status!: number | null;

  @ApiProperty({ type: String, enum: ATTEMPT_ERRORS, nullable: true, description: 'Why there was no response.' })
  error!: AttemptError | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'First 500 bytes of the response; null if empty or not text.',
  })
  answer!: string | null;
}

/** A message to one address, with its attempts. */
export class DeliveryView {
  @ApiProperty()
  id!: string;

  @ApiProperty({ type: String, nullable: true, description: 'Null = endpoint test.' })
  task_id!: string | null;

  @ApiProperty({ enum: [...WEBHOOK_EVENTS, WEBHOOK_TEST] })
  event!: SentEventType;

  @ApiProperty({ type: String, nullable: true, description: 'Null = the task’s callback_url.' })
  endpoint_id!: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Null if the endpoint or task no longer exists.' })
  url!: string | null;

  @ApiProperty({ enum: DELIVERY_STATES })
  status!: DeliveryState;

  @ApiProperty({ format: 'date-time' })
  created_at!: string;

  @ApiProperty({ type: String, nullable: true, format: 'date-time', description: 'Null once the delivery has ended.' })
  next_try_at!: string | null;

  @ApiProperty({ type: [AttemptView], description: 'Oldest first.' })
  attempts!: AttemptView[];
}

/** A page of the account's deliveries, newest first. */
export class DeliveryPage extends PageOf(DeliveryView, 'Newest first.') {}

/** A batch of deliveries that were sent again. */
export class ResentView {
  @ApiProperty({ type: 'integer', description: 'Deliveries that are sent again.' })
  resent!: number;

  @ApiProperty({ type: String, nullable: true, description: 'Pass it as `after` for the next batch; null = no more.' })
  next!: string | null;
}

/** Id of the delivery that carries the test message. */
export class SentTestView {
  @ApiProperty({ description: 'ID of the delivery, for checking the result.' })
  id!: string;
}

/** `record`: undefined for an endpoint without recent deliveries. */
export function endpointView(endpoint: WebhookEndpoint, record: DeliveryCounts | undefined): EndpointView {
  const { id, url, events, createdAt, disabledAt, disabledReason, failingSince } = endpoint;
  return {
    id,
    url,
    events,
    created_at: createdAt.toISOString(),
    disabled_at: disabledAt?.toISOString() ?? null,
    disabled_reason: disabledReason,
    failing_since: failingSince?.toISOString() ?? null,
    recent: record === undefined ? null : recordView(record),
  };
}

function recordView({ delivered, failed, retrying, lastAt }: DeliveryCounts): EndpointRecordView {
  return { hours: RECORD_HOURS, delivered, failed, retrying, last_at: lastAt.toISOString() };
}

/** The full secret, which receivers need to verify signatures. */
export function secretView({ id, secret, createdAt, expiresAt }: WebhookSecret): SecretView {
  return { id, secret, created_at: createdAt.toISOString(), expires_at: expiresAt?.toISOString() ?? null };
}

/** The delivery as the console's API shows it, without its body. */
export function deliveryView(delivery: LoggedDelivery): DeliveryView {
  const { id, taskId, event, endpointId, url, state, createdAt, nextTryAt, attempts } = delivery;
  return {
    id,
    task_id: taskId,
    event,
    endpoint_id: endpointId,
    url,
    status: state,
    created_at: createdAt.toISOString(),
    next_try_at: nextTryAt?.toISOString() ?? null,
    attempts: attempts.map(({ number, startedAt, durationMs, status, error, answer }) => ({
      number,
      started_at: startedAt.toISOString(),
      duration_ms: durationMs,
      status,
      error,
      answer,
    })),
  };
}

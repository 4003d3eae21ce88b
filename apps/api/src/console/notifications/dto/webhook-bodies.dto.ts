import { ChoicesField, FlagField, IntegerField, TextField } from '#contract/field.js';
import { WEBHOOK_EVENTS, type WebhookEventType } from '#contract/webhook-event.js';
import { RECEIVER_URL_LENGTH } from '#egress/public-url.js';
import { OptionalBody } from '../../../common/contract-fields.js';

const MAX_OVERLAP_HOURS = 720;

/** A new endpoint for the account's task events; without a list it receives all events. */
export class NewEndpointBody {
  @TextField({ description: `A public https URL of up to ${RECEIVER_URL_LENGTH} characters.` })
  url!: string;

  @ChoicesField(WEBHOOK_EVENTS, { optional: true, notEmpty: true, description: 'All events by default.' })
  events?: WebhookEventType[] | null;
}

/** Absent or null = unchanged. */
export class EndpointChangeBody {
  @ChoicesField(WEBHOOK_EVENTS, { optional: true, notEmpty: true })
  events?: WebhookEventType[] | null;

  @FlagField({ optional: true, description: 'False disables the endpoint; true enables it, even after a 410.' })
  active?: boolean | null;
}

/** Which batch of an endpoint's failed deliveries to send again; the newest by default. */
@OptionalBody()
export class ResendFailedBody {
  @TextField({ optional: true, description: '`next` of the batch before.' })
  after?: string | null;
}

/** How long the old secret stays valid beside the new one, in hours; 24 by default. */
@OptionalBody()
export class RotateSecretBody {
  @IntegerField({ optional: true, min: 0, max: MAX_OVERLAP_HOURS, default: 24, wording: 'library' })
  overlap_hours?: number | null;
}

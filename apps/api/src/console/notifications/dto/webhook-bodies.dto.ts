import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsArray, IsBoolean, IsDefined, IsInt, IsOptional, IsString, Max, Min } from 'class-validator';
import { Rule } from '#contract/field-rule.js';
import { WEBHOOK_EVENTS, type WebhookEventType } from '#contract/webhook-event.js';
import { OptionalBody } from '../../../common/contract-fields.js';

const MAX_OVERLAP_HOURS = 720;

const AreEvents = () =>
  Rule('areEvents', (value, property) => {
    const all: readonly unknown[] = WEBHOOK_EVENTS;
    if (!Array.isArray(value) || (value.length > 0 && value.every((event) => all.includes(event)))) return undefined;
    return { code: 'invalid_value', message: `${property} must contain only ${WEBHOOK_EVENTS.join(', ')}` };
  });

/** A new endpoint for the account's task events; without a list it receives all events. */
export class NewEndpointBody {
  @ApiProperty({ description: 'A public https URL of up to 2048 characters.' })
  @IsDefined()
  @IsString()
  url!: string;

  @ApiPropertyOptional({ enum: WEBHOOK_EVENTS, isArray: true, description: 'All events by default.' })
  @IsOptional()
  @IsArray()
  @AreEvents()
  events?: WebhookEventType[] | null;
}

/** Absent or null = unchanged. */
export class EndpointChangeBody {
  @ApiPropertyOptional({ enum: WEBHOOK_EVENTS, isArray: true })
  @IsOptional()
  @IsArray()
  @AreEvents()
  events?: WebhookEventType[] | null;

  @ApiPropertyOptional({
    type: Boolean,
    description: 'False disables the endpoint; true enables it, even after a 410.',
  })
  @IsOptional()
  @IsBoolean()
  active?: boolean | null;
}

/** How long the old secret stays valid beside the new one, in hours; 24 by default. */
@OptionalBody()
export class RotateSecretBody {
  @ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: MAX_OVERLAP_HOURS, default: 24 })
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(MAX_OVERLAP_HOURS)
  overlap_hours?: number | null;
}

import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsDefined,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Max,
  Min,
} from 'class-validator';
import { Rule, type FieldProblem } from '#contract/field-rule.js';
import { CHANNEL_KINDS, type ChannelKind } from '#contract/alert-message.js';
import { KnownFiltersOnly } from '../../../common/contract-fields.js';
import { DEFAULT_LIMIT, PageLimit, QueryChoice, QueryText } from '../../../common/query-fields.js';

const MAX_THRESHOLDS = 5;
const MAX_CHANNELS = 100;

function thresholdsProblem(value: unknown, property: string): FieldProblem | undefined {
  if (!Array.isArray(value)) return undefined;
  if (value.length === 0 || value.length > MAX_THRESHOLDS)
    return { code: 'invalid_value', message: `${property} must have 1 to ${MAX_THRESHOLDS} entries` };
  const at = value.findIndex((threshold) => !Number.isInteger(threshold) || Number(threshold) < 1);
  return at === -1
    ? undefined
    : { code: 'invalid_value', message: `${property} must be whole numbers of at least 1`, at: `[${at}]` };
}

/** An integer within bounds; absent or null = unchanged. */
const IsWithin =
  (least: number, most: number): PropertyDecorator =>
  (target, property) => {
    ApiPropertyOptional({ type: 'integer', nullable: true, minimum: least, maximum: most })(target, property);
    Max(most, { message: `$property must be at most ${most}` })(target, property);
    Min(least, { message: `$property must be at least ${least}` })(target, property);
    IsInt()(target, property);
    IsOptional()(target, property);
  };

/** Absent or null = unchanged. */
export class AlertRuleBody {
  @ApiPropertyOptional({ type: Boolean, nullable: true })
  @IsOptional()
  @IsBoolean()
  enabled?: boolean | null;

  @ApiPropertyOptional({
    type: [Number],
    description: 'In percent for budgets and failures, in seconds for waits. Each threshold crossed sends an alert.',
  })
  @IsOptional()
  @IsArray()
  @Rule('areThresholds', thresholdsProblem)
  thresholds?: number[] | null;

  @IsWithin(5, 60)
  window_minutes?: number | null;

  @IsWithin(1, 1_000_000)
  min_tasks?: number | null;

  @IsWithin(0, 1_440)
  hold_minutes?: number | null;

  @IsWithin(0, 720)
  repeat_hours?: number | null;

  @ApiPropertyOptional({ type: [String], description: 'Channel IDs; empty = all channels.' })
  @IsOptional()
  @IsArray()
  @IsString({ each: true })
  @ArrayMaxSize(MAX_CHANNELS)
  channels?: string[] | null;
}

/** A new channel for alerts. */
export class NewChannelBody {
  @ApiProperty({ enum: CHANNEL_KINDS, description: 'slack: an incoming webhook that accepts {text, blocks}.' })
  @IsDefined()
  @IsIn(CHANNEL_KINDS, { message: `kind must be one of ${CHANNEL_KINDS.join(', ')}` })
  kind!: ChannelKind;

  @ApiProperty({ description: 'A public https URL of up to 2048 characters, or an email address.' })
  @IsDefined()
  @IsString()
  address!: string;
}

const STATES = ['firing', 'resolved'] as const;

/** The query of the history of alerts. */
@KnownFiltersOnly()
export class AlertPageQuery {
  @PageLimit()
  readonly limit: number = DEFAULT_LIMIT;

  /** Id of the last alert on the previous page. */
  @QueryText()
  readonly after?: string;

  @QueryChoice(STATES)
  readonly state?: (typeof STATES)[number];
}

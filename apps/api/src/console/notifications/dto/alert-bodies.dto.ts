import { ArrayMaxSize, IsString } from 'class-validator';
import { ChoiceField, FlagField, IntegerField, ListField, TextField } from '#contract/field.js';
import type { FieldProblem } from '#contract/field-rule.js';
import { CHANNEL_KINDS, type ChannelKind } from '#contract/alert-message.js';
import { RECEIVER_URL_LENGTH } from '#egress/public-url.js';
import { KnownFiltersOnly } from '../../../common/contract-fields.js';
import { DEFAULT_LIMIT, PageLimit, QueryChoice, QueryText } from '../../../common/query-fields.js';
import { ALERT_STATES } from './alert-views.dto.js';

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

/** Absent or null = unchanged. */
export class AlertRuleBody {
  @FlagField({ optional: true, nullable: true })
  enabled?: boolean | null;

  @ListField(Number, {
    optional: true,
    description: 'In percent for budgets and failures, in seconds for waits. Each threshold crossed sends an alert.',
    rule: thresholdsProblem,
  })
  thresholds?: number[] | null;

  @IntegerField({ optional: true, nullable: true, min: 5, max: 60 })
  window_minutes?: number | null;

  @IntegerField({ optional: true, nullable: true, min: 1, max: 1_000_000 })
  min_tasks?: number | null;

  @IntegerField({ optional: true, nullable: true, min: 0, max: 1_440 })
  hold_minutes?: number | null;

  @IntegerField({ optional: true, nullable: true, min: 0, max: 720 })
  repeat_hours?: number | null;

  @ListField(
    String,
    { optional: true, description: 'Channel IDs; empty = all channels.' },
    IsString({ each: true }),
    ArrayMaxSize(MAX_CHANNELS),
  )
  channels?: string[] | null;
}

/** A new channel for alerts. */
export class NewChannelBody {
  @ChoiceField(CHANNEL_KINDS, { description: 'slack: an incoming webhook that accepts {text, blocks}.' })
  kind!: ChannelKind;

  @TextField({ description: `A public https URL of up to ${RECEIVER_URL_LENGTH} characters, or an email address.` })
  address!: string;
}

/** The query of the history of alerts. */
@KnownFiltersOnly()
export class AlertPageQuery {
  @PageLimit()
  readonly limit: number = DEFAULT_LIMIT;

  /** Id of the last alert on the previous page. */
  @QueryText()
  readonly after?: string;

  @QueryChoice(ALERT_STATES)
  readonly state?: (typeof ALERT_STATES)[number];
}

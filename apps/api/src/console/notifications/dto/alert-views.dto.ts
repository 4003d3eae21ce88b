import { ApiProperty } from '@nestjs/swagger';
import type { AlertEvent } from '#notifications/alerts/alert-event.repository.js';
import type { AlertRule } from '#notifications/alerts/alert-rule.repository.js';
import { ALERTS } from '#notifications/alerts/alert-settings.js';
import { ALERT_KINDS, CHANNEL_KINDS, type AlertKind, type ChannelKind } from '#contract/alert-message.js';
import type { ChannelDelivery, ChannelWithLast } from '#notifications/deliveries/delivery-records.js';
import {
  ATTEMPT_ERRORS,
  DELIVERY_STATES,
  type AttemptError,
  type DeliveryState,
} from '#notifications/deliveries/next-step.js';
import { ListOf, PageOf } from '../../dto/list-views.dto.js';

/** One kind of alert, and when it fires. */
export class AlertRuleView {
  @ApiProperty({ enum: ALERT_KINDS })
  kind!: AlertKind;

  @ApiProperty({ description: 'Applies to the whole installation; visible to operators only.' })
  for_operators!: boolean;

  @ApiProperty()
  enabled!: boolean;

  @ApiProperty({ type: [Number], description: 'In ascending order; always 1 for provider alerts.' })
  thresholds!: readonly number[];

  @ApiProperty({
    type: String,
    enum: ['percent', 'seconds'],
    nullable: true,
    description: 'Null if the thresholds cannot be set.',
  })
  unit!: 'percent' | 'seconds' | null;

  @ApiProperty({ type: 'integer', description: 'Window over which failures are counted, in minutes.' })
  window_minutes!: number;

  @ApiProperty({
    type: 'integer',
    description: 'Minimum finished tasks in the window; with fewer, failures are ignored.',
  })
  min_tasks!: number;

  @ApiProperty({ type: 'integer', description: 'How long the condition must last before the alert fires.' })
  hold_minutes!: number;

  @ApiProperty({ type: 'integer', description: 'Repeat a firing alert every this many hours; 0 = never.' })
  repeat_hours!: number;

  @ApiProperty({ type: [String], description: 'Channel IDs; empty = all channels.' })
  channels!: readonly string[];
}

/** Every kind of alert that the user may set. */
export class AlertRuleListView extends ListOf(AlertRuleView) {}

class ChannelMessageView {
  @ApiProperty()
  id!: string;

  @ApiProperty({ description: 'Whether this is a channel test.' })
  test!: boolean;

  @ApiProperty({ enum: DELIVERY_STATES })
  status!: DeliveryState;

  @ApiProperty({ format: 'date-time' })
  created_at!: string;

  @ApiProperty({ type: 'integer', nullable: true, description: 'HTTP status of the last response.' })
  answer!: number | null;

  @ApiProperty({ type: String, enum: ATTEMPT_ERRORS, nullable: true, description: 'Why there was no response.' })
  error!: AttemptError | null;
}

/** A channel that alerts are sent to. */
export class ChannelView {
  @ApiProperty()
  id!: string;

  @ApiProperty({ enum: CHANNEL_KINDS })
  kind!: ChannelKind;

  @ApiProperty({ description: 'Email address, or URL with its secret parts removed.' })
  address!: string;

  @ApiProperty({ format: 'date-time' })
  created_at!: string;

  @ApiProperty({ description: 'Disabled because the receiver returned 410.' })
  gone!: boolean;

  @ApiProperty({
    type: ChannelMessageView,
    nullable: true,
    description: 'The latest message; null if the log has none.',
  })
  last!: ChannelMessageView | null;
}

/** The channels of the account, newest first. */
export class ChannelListView extends ListOf(ChannelView) {
  @ApiProperty({
    enum: CHANNEL_KINDS,
    isArray: true,
    description: 'Kinds of channels that can be added; email requires SMTP_URL.',
  })
  kinds!: ChannelKind[];
}

/** The states of an alert. */
export const ALERT_STATES = ['firing', 'resolved'] as const;

/** An alert that fires or has fired. */
export class AlertView {
  @ApiProperty()
  id!: string;

  @ApiProperty({ enum: ALERT_KINDS })
  kind!: AlertKind;

  @ApiProperty({ enum: ALERT_STATES })
  state!: (typeof ALERT_STATES)[number];

  @ApiProperty({ description: 'What it is about.' })
  subject!: string;

  @ApiProperty()
  title!: string;

  @ApiProperty()
  text!: string;

  @ApiProperty({ description: 'Path of the console page that shows the cause.' })
  path!: string;

  @ApiProperty({ format: 'date-time' })
  started_at!: string;

  @ApiProperty({ type: String, nullable: true, format: 'date-time' })
  resolved_at!: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    format: 'date-time',
    description: 'Since when somebody takes care of it, so that it is not repeated.',
  })
  acknowledged_at!: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'The name of the user who acknowledged it.' })
  acknowledged_by!: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    format: 'date-time',
    description: 'When the alert resolves, provided its cause does not return.',
  })
  clears_at!: string | null;

  @ApiProperty({ type: 'integer', description: 'How many minutes the cause must be gone before the alert resolves.' })
  clear_minutes!: number;
}

/** A page of alerts, newest first. */
export class AlertPage extends PageOf(AlertView, 'Newest first.') {}

/** Id of the message that tests a channel; the channel shows the result. */
export class SentAlertView {
  @ApiProperty()
  id!: string;
}

/** The rule as the console's API shows it. */
export function ruleView({ kind, enabled, channelIds, ...settings }: AlertRule): AlertRuleView {
  const { thresholds, windowMinutes, minTasks, holdMinutes, repeatHours } = settings;
  return {
    kind,
    for_operators: ALERTS[kind].forOperators,
    enabled,
    thresholds,
    unit: ALERTS[kind].unit,
    window_minutes: windowMinutes,
    min_tasks: minTasks,
    hold_minutes: holdMinutes,
    repeat_hours: repeatHours,
    channels: channelIds,
  };
}

/** The channel without possible secrets: Slack's URLs are secret, and other URLs may have tokens in their query. */
export function channelView({ id, kind, address, createdAt, gone, last }: ChannelWithLast): ChannelView {
  return {
    id,
    kind,
    address: shownAddress(kind, address),
    created_at: createdAt.toISOString(),
    gone,
    last: last === undefined ? null : messageView(last),
  };
}

/** An address without secrets, safe to show and to keep in a log forever. */
export function shownAddress(kind: ChannelKind, address: string): string {
  if (kind === 'email') return address;
  const { origin, pathname } = new URL(address);
  return kind === 'slack' ? `${origin}/…${pathname.slice(-4)}` : origin + pathname;
}

function messageView({ id, event, state, createdAt, status, error }: ChannelDelivery): ChannelMessageView {
  return {
    id,
    test: event === 'alert.test',
    status: state,
    created_at: createdAt.toISOString(),
    answer: status,
    error,
  };
}

/** The alert as the console's API shows it. */
export function alertView({ name, startedAt, resolvedAt, ...alert }: AlertEvent): AlertView {
  const { id, kind, state, title, text, path } = alert;
  return {
    id,
    kind,
    state,
    subject: name,
    title,
    text,
    path,
    started_at: startedAt.toISOString(),
    resolved_at: resolvedAt?.toISOString() ?? null,
    acknowledged_at: alert.acknowledgedAt?.toISOString() ?? null,
    acknowledged_by: alert.acknowledgedBy,
    clears_at: clearsAt(alert)?.toISOString() ?? null,
    clear_minutes: alert.clearMinutes,
  };
}

function clearsAt({ state, clearSince, clearMinutes }: Pick<AlertEvent, 'state' | 'clearSince' | 'clearMinutes'>) {
  if (state !== 'firing' || clearSince === null) return undefined;
  return new Date(clearSince.getTime() + clearMinutes * 60_000);
}

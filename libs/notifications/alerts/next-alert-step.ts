import type { AlertSettings } from './alert-settings.js';

/** The state of an open alert. */
export interface OpenAlert {
  /** pending: above a threshold, but not for long enough to fire. */
  readonly state: 'pending' | 'firing';
  /** The highest threshold that a message was sent for. */
  readonly level: number;
  readonly startedAt: Date;
  readonly notifiedAt: Date | null;
  /** Since when somebody takes care of it, so that it need not be repeated. */
  readonly acknowledgedAt: Date | null;
  readonly clearSince: Date | null;
  /** How long the value must be clear before the alert resolves. */
  readonly clearMinutes: number;
}

/**
 * The result of an evaluation. `fire`, `raise` (a higher threshold), `repeat` and `resolve` send messages; `drop`: the
 * problem ended before the alert fired.
 */
export type AlertStep = 'none' | 'drop' | 'fire' | 'raise' | 'repeat' | 'begin_clearing' | 'stop_clearing' | 'resolve';

/**
 * An alert resolves only below this share of its lowest threshold, so that a value near the threshold does not make it
 * flap.
 */
const CLEAR_SHARE = 0.9;
const CLEAR_MINUTES = 5;
const MAX_CLEAR_MINUTES = 60;
const MINUTE_MS = 60_000;

/** The highest threshold that a value has reached; 0 = none. */
export function levelOf(value: number, thresholds: readonly number[]): number {
  return Math.max(0, ...thresholds.filter((threshold) => value >= threshold));
}

/** Whether a value is low enough for its alert to resolve. */
export function isClear(value: number, thresholds: readonly number[]): boolean {
  return value < Math.min(...thresholds) * CLEAR_SHARE;
}

/**
 * How long an alert must be clear before it resolves, by its earlier occurrences within a day: 5, 10, 20, 40, 60
 * minutes.
 */
export function clearMinutes(recurrences: number): number {
  return Math.min(MAX_CLEAR_MINUTES, CLEAR_MINUTES * 2 ** recurrences);
}

/** Decides the next step for the current value. */
export function nextAlertStep(
  alert: OpenAlert,
  value: number,
  { thresholds, holdMinutes, repeatHours }: AlertSettings,
  now: Date,
): AlertStep {
  const level = levelOf(value, thresholds);
  const minutesSince = (time: Date): number => (now.getTime() - time.getTime()) / MINUTE_MS;
  if (alert.state === 'pending') {
    if (level === 0) return 'drop';
    return minutesSince(alert.startedAt) >= holdMinutes ? 'fire' : 'none';
  }
  if (isClear(value, thresholds)) {
    if (alert.clearSince === null) return 'begin_clearing';
    return minutesSince(alert.clearSince) >= alert.clearMinutes ? 'resolve' : 'none';
  }
  if (level > alert.level) return 'raise';
  if (alert.clearSince !== null) return 'stop_clearing';
  if (alert.acknowledgedAt !== null) return 'none';
  const isDue = repeatHours > 0 && alert.notifiedAt !== null && minutesSince(alert.notifiedAt) >= repeatHours * 60;
  return isDue ? 'repeat' : 'none';
}

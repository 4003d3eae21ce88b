import type { AlertSettings } from './alert-settings.js';

/** What is known of an alert that has not ended. */
export interface OpenAlert {
  /** pending: seen, but not for long enough to fire. */
  readonly state: 'pending' | 'firing';
  /** The highest threshold that was told. */
  readonly level: number;
  readonly startedAt: Date;
  readonly notifiedAt: Date | null;
  readonly clearSince: Date | null;
  /** How long it must be clear before it has ended. */
  readonly clearMinutes: number;
}

/**
 * What becomes of an alert after a look. `fire`, `raise` (a higher threshold), `repeat` and `resolve` are told;
 * `drop`: it was over before it could fire.
 */
export type AlertStep = 'none' | 'drop' | 'fire' | 'raise' | 'repeat' | 'begin_clearing' | 'stop_clearing' | 'resolve';

/** An alert ends only below this share of its lowest threshold, so that a value around it does not flap. */
const CLEAR_SHARE = 0.9;
const CLEAR_MINUTES = 5;
const MOST_CLEAR_MINUTES = 60;
const MINUTE_MS = 60_000;

/** The highest threshold that a value has reached; 0 = none. */
export function levelOf(value: number, thresholds: readonly number[]): number {
  return Math.max(0, ...thresholds.filter((threshold) => value >= threshold));
}

/** Whether a value is so low that its alert may end. */
export function isClear(value: number, thresholds: readonly number[]): boolean {
  return value < Math.min(...thresholds) * CLEAR_SHARE;
}

/** How long an alert must be clear that has come so many times before on the same day: 5, 10, 20, 40, 60 minutes. */
export function clearMinutes(recurrences: number): number {
  return Math.min(MOST_CLEAR_MINUTES, CLEAR_MINUTES * 2 ** recurrences);
}

/** Decides by what a look has found. */
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
  const isDue = repeatHours > 0 && alert.notifiedAt !== null && minutesSince(alert.notifiedAt) >= repeatHours * 60;
  return isDue ? 'repeat' : 'none';
}

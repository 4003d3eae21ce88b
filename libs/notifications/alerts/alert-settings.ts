import { ALERT_KINDS, type AlertKind } from '#contract/alert-message.js';

/** When an alert of a kind fires, and how often it is repeated. */
export interface AlertSettings {
  /**
   * Ascending: percent for budgets and failure rates, seconds for waits. Reaching the next one sends another message.
   */
  readonly thresholds: readonly number[];
  /** The failure rate covers this many minutes. */
  readonly windowMinutes: number;
  /** With fewer ended tasks than this in the window, there is no failure rate. */
  readonly minTasks: number;
  /** How long the value must stay above a threshold before the alert fires. */
  readonly holdMinutes: number;
  /** While the alert fires, it is repeated after this many hours; 0 = never. */
  readonly repeatHours: number;
}

/** Defaults and limits of a kind. */
interface KindRules {
  readonly defaults: AlertSettings;
  readonly unit: 'percent' | 'seconds' | null;
  /** The largest threshold. */
  readonly most: number;
  /** Concerns the whole installation, so only operators can set it. */
  readonly forOperators: boolean;
  /** A new account has it turned on, with these settings instead of the defaults; undefined = it is off. */
  readonly onAtSetup?: Partial<AlertSettings>;
}

const BASE = { windowMinutes: 15, minTasks: 20, holdMinutes: 0, repeatHours: 24 };

/** Every kind of alert. */
export const ALERTS: Readonly<Record<AlertKind, KindRules>> = {
  budget: {
    // A used-up budget stays used up, so a repeated message would not help.
    defaults: { ...BASE, thresholds: [50, 80, 100], repeatHours: 0 },
    unit: 'percent',
    most: 100,
    forOperators: false,
    // Nobody who has not asked for it needs to hear of half a budget.
    onAtSetup: { thresholds: [80, 100] },
  },
  failure_rate: {
    defaults: { ...BASE, thresholds: [20] },
    unit: 'percent',
    most: 100,
    forOperators: false,
  },
  webhook_failing: {
    // Longer than the first two pauses between tries, so that a short restart of the receiver is no alert.
    defaults: { ...BASE, thresholds: [1], holdMinutes: 6 },
    unit: null,
    most: 1,
    forOperators: false,
    onAtSetup: {},
  },
  approval_waiting: {
    // Nobody needs to hear of each request: one alert lasts until none waits.
    defaults: { ...BASE, thresholds: [1] },
    unit: null,
    most: 1,
    forOperators: false,
    onAtSetup: {},
  },
  end_user_abuse: {
    // It lasts as long as the state is new, so it need not be repeated.
    defaults: { ...BASE, thresholds: [1], repeatHours: 0 },
    unit: null,
    most: 1,
    forOperators: false,
    onAtSetup: {},
  },
  unmatched_notice: {
    defaults: { ...BASE, thresholds: [1], repeatHours: 0 },
    unit: null,
    most: 1,
    forOperators: true,
    onAtSetup: {},
  },
  provider_down: {
    defaults: { ...BASE, thresholds: [1], holdMinutes: 2 },
    unit: null,
    most: 1,
    forOperators: true,
    onAtSetup: {},
  },
  queue_wait: {
    defaults: { ...BASE, thresholds: [60], holdMinutes: 2 },
    unit: 'seconds',
    most: 86_400,
    forOperators: true,
    onAtSetup: {},
  },
  overall_failure_rate: {
    defaults: { ...BASE, thresholds: [20], minTasks: 50 },
    unit: 'percent',
    most: 100,
    forOperators: true,
  },
};

/** The kinds of alerts that an account may set. */
export function alertKindsFor(operator: boolean): AlertKind[] {
  return ALERT_KINDS.filter((kind) => operator || !ALERTS[kind].forOperators);
}

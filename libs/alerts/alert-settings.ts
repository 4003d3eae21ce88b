import type { AlertKind } from '#contract/alert-message.js';

/** When a kind of alert fires, and how often it is told. */
export interface AlertSettings {
  /** Ascending. Of budgets and failures percent, of waits seconds; passing the next one tells again. */
  readonly thresholds: readonly number[];
  /** Failures are counted of so many minutes. */
  readonly windowMinutes: number;
  /** Fewer ended tasks in that time tell nothing. */
  readonly minTasks: number;
  /** How long it must last before it fires. */
  readonly holdMinutes: number;
  /** While it fires it is told again after so many hours; 0 = never. */
  readonly repeatHours: number;
}

/** What is said of a kind where somebody may set it. */
interface KindRules {
  readonly defaults: AlertSettings;
  readonly unit: 'percent' | 'seconds' | null;
  /** Of a threshold. */
  readonly most: number;
  /** About the whole installation, so for its operators. */
  readonly forOperators: boolean;
}

const BASE = { windowMinutes: 15, minTasks: 20, holdMinutes: 0, repeatHours: 24 };

/** Every kind of alert. */
export const ALERTS: Readonly<Record<AlertKind, KindRules>> = {
  budget: {
    // What is spent stays spent: to repeat it helps nobody.
    defaults: { ...BASE, thresholds: [50, 80, 100], repeatHours: 0 },
    ...{ unit: 'percent', most: 100, forOperators: false },
  },
  failure_rate: {
    defaults: { ...BASE, thresholds: [20] },
    ...{ unit: 'percent', most: 100, forOperators: false },
  },
  provider_down: {
    defaults: { ...BASE, thresholds: [1], holdMinutes: 2 },
    ...{ unit: null, most: 1, forOperators: true },
  },
  queue_wait: {
    defaults: { ...BASE, thresholds: [60], holdMinutes: 2 },
    ...{ unit: 'seconds', most: 86_400, forOperators: true },
  },
  overall_failure_rate: {
    defaults: { ...BASE, thresholds: [20], minTasks: 50 },
    ...{ unit: 'percent', most: 100, forOperators: true },
  },
};

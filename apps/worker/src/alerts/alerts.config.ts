import { Setting, Within } from '#config/setting.js';

/** How often alert rules are evaluated. */
export class AlertsConfig {
  @Setting('ALERT_EVALUATE_SECONDS', 'How often alerts are evaluated, by all workers together.', {
    unit: 's',
  })
  @Within(1, 3_600)
  readonly evaluateSeconds: number = 15;
}

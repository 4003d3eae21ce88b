import { Injectable } from '@nestjs/common';
import { AlertEventRepository, type OpenAlertRow } from '#notifications/alerts/alert-event.repository.js';
import { AlertRuleRepository, type AlertRule } from '#notifications/alerts/alert-rule.repository.js';
import type { AlertReading } from '#notifications/alerts/alert-words.js';
import { levelOf, nextAlertStep } from '#notifications/alerts/next-alert-step.js';
import { EnqueueDeliveries } from '#notifications/deliveries/enqueue-deliveries.js';
import type { AlertKind } from '#contract/alert-message.js';
import { Logger } from '#telemetry/logger.js';
import { AlertReadings } from './alert-readings.js';

/** Evaluates alert rules: which alerts begin, escalate, or resolve. */
@Injectable()
export class EvaluateAlerts {
  constructor(
    private readonly rules: AlertRuleRepository,
    private readonly events: AlertEventRepository,
    private readonly readings: AlertReadings,
    private readonly deliveries: EnqueueDeliveries,
    private readonly logger: Logger,
  ) {}

  /**
   * Evaluates every due rule once. A rule whose values can't be read is retried when it is next due. Throws when the
   * database does not answer.
   */
  async run(everyMs: number): Promise<void> {
    for await (const rule of this.rules.takeDue(everyMs)) {
      await this.evaluate(rule).catch((error: unknown) => {
        this.logger.warn('alerts.not_evaluated', { accountId: rule.accountId, code: rule.kind, error });
      });
    }
  }

  /** Evaluates a rule of an account now, if it is on: what it is about can't wait. Throws like `run`. */
  async runNow(accountId: string, kind: AlertKind): Promise<void> {
    const rule = await this.rules.enabled(accountId, kind);
    if (rule !== undefined) await this.evaluate(rule);
  }

  private async evaluate(rule: AlertRule): Promise<void> {
    // In this order: a step is refused if the alert has changed since it was read, and so are readings older than that change.
    const open = await this.events.open(rule);
    const readings = await this.readings.of(rule);
    const now = new Date();
    let changed = false;
    for (const reading of readings) {
      const isOver = levelOf(reading.value, rule.thresholds) > 0;
      const known = open.find(({ subject }) => subject === reading.subject);
      const alert = known ?? (isOver ? await this.events.begin(rule, reading, now) : undefined);
      if (alert !== undefined) changed = (await this.step(rule, alert, reading, now)) || changed;
    }
    // The subject no longer exists: a key was revoked, a budget raised, a provider removed.
    for (const alert of open.filter(({ subject }) => !readings.some((reading) => reading.subject === subject))) {
      changed = (await this.step(rule, alert, undefined, now)) || changed;
    }
    // The sweep finds messages that could not be enqueued.
    if (changed) await this.deliveries.enqueueNext(rule.accountId);
  }

  private async step(
    rule: AlertRule,
    alert: OpenAlertRow,
    reading: AlertReading | undefined,
    now: Date,
  ): Promise<boolean> {
    const value = reading?.value ?? 0;
    const level = levelOf(value, rule.thresholds);
    const step = nextAlertStep(alert, value, rule, now);
    // The alert keeps the text of the last evaluation that found a problem.
    const words = level > 0 ? reading : undefined;
    if (step === 'none' && (words === undefined || words.title === alert.title)) return false;
    return await this.events.applyStep(rule, alert, { step, reading: words, level, now });
  }
}

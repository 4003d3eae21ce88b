import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AlertEventRepository } from '#alerts/alert-event.repository.js';
import { EvaluateAlerts } from '#alerts/evaluate-alerts.js';
import { HealthConfig } from '#health/health.config.js';
import { WorkerConfig } from '../worker.config.js';
import { EXPIRE_EVERY_MS, Retention } from './retention.js';

/** With every third check of what a process depends on, 15 s: the values that rules compare cover minutes. */
const EVALUATIONS_EVERY = 3;
/** A rule is due slightly before its interval ends, so that a single worker never evaluates it one interval late. */
const DUE_SHARE = 0.75;

/** Schedules the evaluation of alerts and the removal of old ones. */
@Injectable()
export class AlertEvaluation implements OnApplicationBootstrap {
  constructor(
    private readonly retention: Retention,
    private readonly alerts: EvaluateAlerts,
    private readonly events: AlertEventRepository,
    private readonly config: HealthConfig,
    private readonly worker: WorkerConfig,
  ) {}

  onApplicationBootstrap(): void {
    const everyMs = EVALUATIONS_EVERY * this.config.checkIntervalMs;
    this.retention.every(everyMs, 'alert_evaluation', () => this.alerts.run(everyMs * DUE_SHARE));
    this.retention.watch('alerts', () => this.events.dueSince(this.worker));
    this.retention.every(EXPIRE_EVERY_MS, 'alerts', () => this.events.expire(this.worker));
  }
}

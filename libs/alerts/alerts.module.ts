import { Module } from '@nestjs/common';
import { BillingModule } from '#billing/billing.module.js';
import { DatabaseModule } from '#database/database.module.js';
import { RoutingModule } from '#routing/routing.module.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { WebhooksModule } from '#webhooks/webhooks.module.js';
import { AlertEventRepository } from './alert-event.repository.js';
import { AlertDispatcher } from './alert-dispatcher.js';
import { AlertReadings } from './alert-readings.js';
import { AlertRuleRepository } from './alert-rule.repository.js';
import { EvaluateAlerts } from './evaluate-alerts.js';
import { ProviderReadings } from './provider-readings.js';

const rows = [AlertRuleRepository, AlertEventRepository];

/** Alert rules and alerts. */
@Module({ imports: [DatabaseModule, WebhooksModule], providers: rows, exports: rows })
export class AlertsModule {}

const looks = [AlertReadings, ProviderReadings, AlertDispatcher, EvaluateAlerts];

/** Evaluates alert rules; for workers. Needs the CatalogModule. */
@Module({
  imports: [AlertsModule, BillingModule, RoutingModule, TasksModule],
  providers: looks,
  exports: [AlertsModule, EvaluateAlerts],
})
export class AlertEvaluationModule {}

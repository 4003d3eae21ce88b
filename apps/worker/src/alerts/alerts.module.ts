import { Module } from '@nestjs/common';
import { WaitingModule } from '#answers/waiting.module.js';
import { EndUserStatesModule } from '#accounts/end-user-states.module.js';
import { BillingModule } from '#billing/billing.module.js';
import { NotificationsModule } from '#notifications/notifications.module.js';
import { RoutingModule } from '#routing/routing.module.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { AlertReadings } from './alert-readings.js';
import { EvaluateAlerts } from './evaluate-alerts.js';
import { ProviderReadings } from './provider-readings.js';

/** Evaluates alert rules. Needs the CatalogModule. */
@Module({
  imports: [BillingModule, EndUserStatesModule, NotificationsModule, RoutingModule, TasksModule, WaitingModule],
  providers: [AlertReadings, ProviderReadings, EvaluateAlerts],
  exports: [EvaluateAlerts, NotificationsModule],
})
export class AlertsModule {}

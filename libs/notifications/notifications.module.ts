import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { QueueModule } from '#queue/queue.module.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { AlertEventRepository } from './alerts/alert-event.repository.js';
import { AlertRuleRepository } from './alerts/alert-rule.repository.js';
import { DeliveryLine } from './deliveries/delivery-line.js';
import { DeliveryLog } from './deliveries/delivery-log.js';
import { DeliveryRecords } from './deliveries/delivery-records.js';
import { DeliveryTransitions } from './deliveries/delivery-transitions.js';
import { EnqueueDeliveries } from './deliveries/enqueue-deliveries.js';
import { NewDeliveries } from './deliveries/new-deliveries.js';
import { WebhookGauges } from './deliveries/webhook-gauges.js';
import { EndpointStore } from './endpoint-store.js';
import { WEBHOOK_SECRETS, WebhookSecretStore } from './secret-store.js';

/** This room's own sealer, whose key no other room uses. */
const sealer = {
  provide: TextSealer,
  inject: [SecretsConfig],
  useFactory: (secrets: SecretsConfig) => new TextSealer(secrets, WEBHOOK_SECRETS),
};
const stores = [EndpointStore, WebhookSecretStore, AlertRuleRepository, AlertEventRepository];
const deliveries = [NewDeliveries, DeliveryLine, EnqueueDeliveries, DeliveryTransitions, DeliveryLog, DeliveryRecords];

/**
 * Webhook endpoints, alert channels and rules, and what is sent to them. Every process enqueues what is due; the worker
 * delivers it, and evaluates alerts.
 */
@Module({
  imports: [DatabaseModule, QueueModule],
  providers: [...stores, ...deliveries, sealer, WebhookGauges],
  exports: [...stores, ...deliveries],
})
export class NotificationsModule {}

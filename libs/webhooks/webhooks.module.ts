import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { QueueModule } from '#queue/queue.module.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { AlertChannelStore } from './channel-store.js';
import { DeliveryLine } from './delivery-line.js';
import { DeliveryLogStore } from './delivery-log-store.js';
import { DeliveryTransitions } from './delivery-transitions.js';
import { WebhookGauges } from './webhook-gauges.js';
import { WebhookEndpointStore } from './endpoint-store.js';
import { WEBHOOK_SECRETS, WebhookSecretStore } from './secret-store.js';
import { SendDeliveries } from './send-deliveries.js';

/** This room's own: its key is no other room's. */
const sealer = {
  provide: TextSealer,
  inject: [SecretsConfig],
  useFactory: (secrets: SecretsConfig) => new TextSealer(secrets, WEBHOOK_SECRETS),
};
const parts = [
  DeliveryTransitions,
  DeliveryLine,
  SendDeliveries,
  WebhookSecretStore,
  DeliveryLogStore,
  WebhookEndpointStore,
  AlertChannelStore,
];

/** What every process does for webhooks: enqueue what is due. The worker delivers. */
@Module({ imports: [DatabaseModule, QueueModule], providers: [...parts, sealer, WebhookGauges], exports: parts })
export class WebhooksModule {}

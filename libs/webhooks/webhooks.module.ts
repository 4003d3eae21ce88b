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

/** This room's own sealer, whose key no other room uses. */
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

/** The webhook work of every process: enqueueing what is due. The worker delivers. */
@Module({ imports: [DatabaseModule, QueueModule], providers: [...parts, sealer, WebhookGauges], exports: parts })
export class WebhooksModule {}

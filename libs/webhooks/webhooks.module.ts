import { Module } from '@nestjs/common';
import { Database } from '#database/database.js';
import { DatabaseModule } from '#database/database.module.js';
import { QueueModule } from '#queue/queue.module.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { DeliveryLine } from './delivery-line.js';
import { DeliveryMoves } from './delivery-moves.js';
import { WEBHOOK_SECRETS, WebhookSecretStore } from './secret-store.js';
import { SendDeliveries } from './send-deliveries.js';

/** The operator's commands make it of a pool of their own, so it takes what it is made of. */
const secrets = {
  provide: WebhookSecretStore,
  inject: [Database, SecretsConfig],
  useFactory: ({ pool }: Database, config: SecretsConfig) =>
    new WebhookSecretStore(pool, new TextSealer(config, WEBHOOK_SECRETS)),
};

const parts = [DeliveryMoves, DeliveryLine, SendDeliveries, secrets];

/** What every process does for webhooks: ring for what is due. Who delivers is the worker. */
@Module({ imports: [DatabaseModule, QueueModule], providers: parts, exports: parts })
export class WebhooksModule {}

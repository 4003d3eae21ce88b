import { Module } from '@nestjs/common';
import { Database } from '#database/database.js';
import { DatabaseModule } from '#database/database.module.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { DeliveryLogStore } from '#webhooks/delivery-log-store.js';
import { WebhookEndpointStore } from '#webhooks/endpoint-store.js';
import { WEBHOOK_SECRETS, WebhookSecretStore } from '#webhooks/secret-store.js';
import { WebhooksConfig } from '#webhooks/webhooks.config.js';

const providers = [
  {
    provide: WebhookEndpointStore,
    inject: [Database, WebhooksConfig],
    useFactory: ({ pool }: Database, config: WebhooksConfig) =>
      new WebhookEndpointStore(pool, config.endpointsPerAccount),
  },
  {
    provide: WebhookSecretStore,
    inject: [Database, SecretsConfig],
    useFactory: ({ pool }: Database, secrets: SecretsConfig) =>
      new WebhookSecretStore(pool, new TextSealer(secrets, WEBHOOK_SECRETS)),
  },
  { provide: DeliveryLogStore, inject: [Database], useFactory: ({ pool }: Database) => new DeliveryLogStore(pool) },
];

/** The rows of webhooks that their owners look at and change. */
@Module({ imports: [DatabaseModule], providers, exports: providers })
export class WebhookStoresModule {}

import { Module } from '@nestjs/common';
import { Database } from '#database/database.js';
import { DatabaseModule } from '#database/database.module.js';
import { QueueModule } from '#queue/queue.module.js';
import { WebhookQueue } from '#queue/webhook-queue.js';
import { Logger } from '#telemetry/logger.js';
import { DeliveryLine } from './delivery-line.js';
import { DeliveryMoves } from './delivery-moves.js';
import { SendDeliveries } from './send-deliveries.js';
import { WebhooksConfig } from './webhooks.config.js';

const providers = [
  {
    provide: DeliveryMoves,
    inject: [Database, WebhooksConfig],
    useFactory: ({ pool }: Database, config: WebhooksConfig) => new DeliveryMoves(pool, config.concurrencyPerAccount),
  },
  {
    provide: DeliveryLine,
    inject: [Database, WebhooksConfig],
    useFactory: ({ pool }: Database, config: WebhooksConfig) => new DeliveryLine(pool, config.concurrencyPerAccount),
  },
  {
    provide: SendDeliveries,
    inject: [DeliveryLine, WebhookQueue, Logger],
    useFactory: (...parts: ConstructorParameters<typeof SendDeliveries>) => new SendDeliveries(...parts),
  },
];

/** What every process does for webhooks: ring for what is due. Who delivers is the worker. */
@Module({ imports: [DatabaseModule, QueueModule], providers, exports: providers })
export class WebhooksModule {}

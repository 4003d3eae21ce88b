import { Module } from '@nestjs/common';
import { NotificationsModule } from '#notifications/notifications.module.js';
import { AccountsModule } from '#accounts/accounts.module.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { LinksModule } from '../../common/links.module.js';
import { LimitsModule } from '../../limits/limits.module.js';
import { AccountWebhooks } from './account-webhooks.js';
import { DeliveryPayload } from './delivery-payload.js';
import { VisibleDeliveries } from './visible-deliveries.js';
import { WebhooksController } from './webhooks.controller.js';

/** Webhook endpoints of an account. Workers deliver the events. */
@Module({
  imports: [AccountsModule, LimitsModule, LinksModule, NotificationsModule, TasksModule],
  controllers: [WebhooksController],
  providers: [AccountWebhooks, DeliveryPayload, VisibleDeliveries],
})
export class ConsoleWebhooksModule {}

import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { MailModule } from '#notifications/mail/mail.module.js';
import { NotificationsModule } from '#notifications/notifications.module.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { LinksModule } from '../../common/links.module.js';
import { LimitsModule } from '../../limits/limits.module.js';
import { SignInModule } from '../sign-in/sign-in.module.js';
import { AccountAlerts } from './account-alerts.js';
import { AccountWebhooks } from './account-webhooks.js';
import { AlertChannels } from './alert-channels.js';
import { AlertsController } from './alerts.controller.js';
import { TestChannel } from './test-channel.js';
import { VisibleDeliveries } from './visible-deliveries.js';
import { WebhooksController } from './webhooks.controller.js';

/** Webhook endpoints, alert rules and alert channels of an account. Workers deliver the events, and evaluate the rules. */
@Module({
  imports: [AccountsModule, LimitsModule, LinksModule, MailModule, NotificationsModule, SignInModule, TasksModule],
  controllers: [WebhooksController, AlertsController],
  providers: [AccountAlerts, AccountWebhooks, AlertChannels, TestChannel, VisibleDeliveries],
})
export class ConsoleNotificationsModule {}

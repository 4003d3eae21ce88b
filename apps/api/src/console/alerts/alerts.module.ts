import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { AlertsModule } from '#alerts/alerts.module.js';
import { MailModule } from '#mail/mail.module.js';
import { WebhooksModule } from '#webhooks/webhooks.module.js';
import { LinkMailsModule } from '../mail/link-mails.module.js';
import { AccountAlerts } from './account-alerts.js';
import { AlertsController } from './alerts.controller.js';
import { NewChannels } from './new-channels.js';

/** Alert rules and channels of an account. The library's AlertEvaluationModule evaluates them. */
@Module({
  imports: [AccountsModule, AlertsModule, LinkMailsModule, MailModule, WebhooksModule],
  controllers: [AlertsController],
  providers: [AccountAlerts, NewChannels],
})
export class ConsoleAlertsModule {}

import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { MailModule } from '#notifications/mail/mail.module.js';
import { NotificationsModule } from '#notifications/notifications.module.js';
import { LinkMailsModule } from '../mail/link-mails.module.js';
import { AccountAlerts } from './account-alerts.js';
import { AlertsController } from './alerts.controller.js';
import { NewChannels } from './new-channels.js';

/** Alert rules and channels of an account. Workers evaluate them. */
@Module({
  imports: [AccountsModule, LinkMailsModule, MailModule, NotificationsModule],
  controllers: [AlertsController],
  providers: [AccountAlerts, NewChannels],
})
export class ConsoleAlertsModule {}

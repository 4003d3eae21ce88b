import { Module } from '@nestjs/common';
import { BillingModule } from '#billing/billing.module.js';
import { DatabaseModule } from '#database/database.module.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { AccountsModule } from '#accounts/accounts.module.js';
import { NotificationsModule } from '#notifications/notifications.module.js';
import { AccountDefaultsModule } from './account-defaults.module.js';
import { AccountsController } from './accounts.controller.js';
import { Accounts } from './accounts.js';
import { DeleteAccount } from './delete-account.js';
import { OwnAccountController } from './own-account.controller.js';
import { TeamModule } from './team.module.js';

/** Accounts: a user's own one for its admins, all of them for operators. */
@Module({
  imports: [
    AccountDefaultsModule,
    AccountsModule,
    NotificationsModule,
    BillingModule,
    DatabaseModule,
    TasksModule,
    TeamModule,
  ],
  controllers: [OwnAccountController, AccountsController],
  providers: [Accounts, DeleteAccount],
})
export class ConsoleAccountsModule {}

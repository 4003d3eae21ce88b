import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { BillingModule } from '#billing/billing.module.js';
import { NotificationsModule } from '#notifications/notifications.module.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { KeysModule } from '../keys/keys.module.js';
import { SignInModule } from '../sign-in/sign-in.module.js';
import { Accounts } from './accounts.js';
import { AccountsController } from './accounts.controller.js';
import { AuditController } from './audit.controller.js';
import { AuditTargets } from './audit-targets.js';
import { DeleteAccount } from './delete-account.js';
import { Invitations } from './invitations.js';
import { OwnAccountController } from './own-account.controller.js';
import { SearchAudit } from './search-audit.js';
import { TeamController } from './team.controller.js';

/** The users of an account, what they did, and accounts: a user's own one for its admins, all of them for operators. */
@Module({
  imports: [AccountsModule, BillingModule, KeysModule, NotificationsModule, SignInModule, TasksModule],
  controllers: [TeamController, AuditController, OwnAccountController, AccountsController],
  providers: [Accounts, AuditTargets, DeleteAccount, Invitations, SearchAudit],
})
export class TeamModule {}

import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { AuthModule } from '../auth/auth.module.js';
import { AuthorizationsModule } from './authorizations/authorizations.module.js';
import { EndUsersModule } from './end-users/end-users.module.js';
import { ApprovalsModule } from './approvals/approvals.module.js';
import { ConsoleBatchesModule } from './batches/batches.module.js';
import { KeysModule } from './keys/keys.module.js';
import { ConsoleNotificationsModule } from './notifications/notifications.module.js';
import { OperationsModule } from './operations/operations.module.js';
import { PlaygroundModule } from './playground/playground.module.js';
import { RefusalsModule } from './refusals/refusals.module.js';
import { SessionLookUps } from './session-look-ups.js';
import { SignInModule } from './sign-in/sign-in.module.js';
import { ConsoleTasksModule } from './tasks/tasks.module.js';
import { TeamModule } from './team/team.module.js';
import { UsageModule } from './usage/usage.module.js';

/** The console's API, at `/console/api`, in the order of its OpenAPI document. */
@Module({
  imports: [
    AccountsModule,
    AuthModule,
    SignInModule,
    KeysModule,
    AuthorizationsModule,
    PlaygroundModule,
    ConsoleTasksModule,
    ApprovalsModule,
    EndUsersModule,
    ConsoleBatchesModule,
    RefusalsModule,
    UsageModule,
    OperationsModule,
    TeamModule,
    ConsoleNotificationsModule,
  ],
  providers: [SessionLookUps],
})
export class ConsoleModule {}

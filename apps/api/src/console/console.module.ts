import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { AuthModule } from '../auth/auth.module.js';
import { ConsoleAlertsModule } from './alerts/alerts.module.js';
import { AuditModule } from './audit/audit.module.js';
import { ConsoleCatalogModule } from './catalog/catalog.module.js';
import { KeysModule } from './keys/keys.module.js';
import { OperationsModule } from './operations/operations.module.js';
import { PasskeysModule } from './passkeys/passkeys.module.js';
import { PlaygroundModule } from './playground/playground.module.js';
import { SessionLookUps } from './session-look-ups.js';
import { SignInModule } from './sign-in/sign-in.module.js';
import { ConsoleTasksModule } from './tasks/tasks.module.js';
import { ConsoleAccountsModule } from './team/accounts.module.js';
import { TeamModule } from './team/team.module.js';
import { TwoFactorModule } from './two-factor/two-factor.module.js';
import { UsageModule } from './usage/usage.module.js';
import { ConsoleWebhooksModule } from './webhooks/webhooks.module.js';

/** The console's API, at `/console/api`, in the order of its OpenAPI document. */
@Module({
  imports: [
    AccountsModule,
    AuthModule,
    SignInModule,
    TwoFactorModule,
    PasskeysModule,
    KeysModule,
    PlaygroundModule,
    ConsoleTasksModule,
    UsageModule,
    OperationsModule,
    ConsoleCatalogModule,
    TeamModule,
    AuditModule,
    ConsoleAccountsModule,
    ConsoleWebhooksModule,
    ConsoleAlertsModule,
  ],
  providers: [SessionLookUps],
})
export class ConsoleModule {}

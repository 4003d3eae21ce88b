import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { AccountsModule } from '#accounts/accounts.module.js';
import { AuditTargets } from './audit-targets.js';
import { AuditController } from './audit.controller.js';

/** An account's audit log. */
@Module({ imports: [DatabaseModule, AccountsModule], controllers: [AuditController], providers: [AuditTargets] })
export class AuditModule {}

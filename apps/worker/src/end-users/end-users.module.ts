import { Module } from '@nestjs/common';
import { AuditLog } from '#accounts/audit-log.js';
import { EndUserStatesModule } from '#accounts/end-user-states.module.js';
import { DatabaseModule } from '#database/database.module.js';
import { AlertsModule } from '../alerts/alerts.module.js';
import { ReadCase } from './read-case.js';
import { WatchEndUsers } from './watch-end-users.js';

/** Providers' notices about end users, and what they and refusals lead to. Needs the CatalogModule. */
@Module({
  imports: [AlertsModule, DatabaseModule, EndUserStatesModule],
  providers: [AuditLog, ReadCase, WatchEndUsers],
  exports: [WatchEndUsers, EndUserStatesModule],
})
export class EndUsersModule {}

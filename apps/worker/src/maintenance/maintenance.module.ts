import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { BillingModule } from '#billing/billing.module.js';
import { ExpireBatches } from '#batches/expire-batches.js';
import { AuditLog } from '#accounts/audit-log.js';
import { ErasureModule } from '#erasure/erasure.module.js';
import { ExpireSignIns } from '#accounts/expire-sign-ins.js';
import { RefusedCallsRepository } from '#accounts/refused-calls.repository.js';
import { StoredResponses } from '#routing/stored-responses.js';
import { StorageModule } from '#storage/storage.module.js';
import { ExpireIdempotencyKeys } from '#tasks/retention/expire-idempotency-keys.js';
import { ExpireTasks } from '#tasks/retention/expire-tasks.js';
import { TaskObjects } from '#tasks/retention/task-objects.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { CollectOrphans } from '#uploads/collect-orphans.js';
import { ExpireUploads } from '#uploads/expire-uploads.js';
import { UploadRowsModule } from '#uploads/upload-rows.module.js';
import { ExpireWebhooks } from '#notifications/deliveries/expire-webhooks.js';
import { AlertsModule } from '../alerts/alerts.module.js';
import { ApprovalMailsModule } from '../approvals/approval-mails.module.js';
import { EndUsersModule } from '../end-users/end-users.module.js';
import { Maintenance } from './maintenance.js';
import { Schedules } from './schedules.js';

/** Each room removes its own expired rows. Only workers do so, and only AuditLog, RefusedCallsRepository and StoredResponses are of use to the API too. */
const owners = [
  ExpireTasks,
  ExpireIdempotencyKeys,
  TaskObjects,
  ExpireUploads,
  ExpireBatches,
  ExpireWebhooks,
  ExpireSignIns,
  AuditLog,
  RefusedCallsRepository,
  StoredResponses,
];

/** Schedules the removal of expired rows and objects, usage rollups, the evaluation of alerts, and emails to approvers. */
@Module({
  imports: [
    AlertsModule,
    ApprovalMailsModule,
    BillingModule,
    DatabaseModule,
    EndUsersModule,
    ErasureModule,
    StorageModule,
    TasksModule,
    UploadRowsModule,
  ],
  providers: [Maintenance, Schedules, CollectOrphans, ...owners],
})
export class MaintenanceModule {}

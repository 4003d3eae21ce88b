import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { AlertEvaluationModule } from '#alerts/alerts.module.js';
import { BillingModule } from '#billing/billing.module.js';
import { AuditLog } from '#accounts/audit-log.js';
import { ExpireSignIns } from '#accounts/expire-sign-ins.js';
import { StorageModule } from '#storage/storage.module.js';
import { ExpireIdempotencyKeys } from '#tasks/retention/expire-idempotency-keys.js';
import { ExpireObjects } from '#tasks/retention/expire-objects.js';
import { TaskObjects } from '#tasks/retention/task-objects.js';
import { CollectOrphans } from '#uploads/collect-orphans.js';
import { ExpireUploads } from '#uploads/expire-uploads.js';
import { UploadRowsModule } from '#uploads/upload-rows.module.js';
import { ExpireWebhooks } from '#webhooks/expire-webhooks.js';
import { AlertEvaluation } from './alert-evaluation.js';
import { LedgerRetention } from './ledger-retention.js';
import { LogRetention } from './log-retention.js';
import { ObjectRetention } from './object-retention.js';
import { Retention } from './retention.js';
import { StrayObjectRetention } from './stray-object-retention.js';
import { KeyAndSessionRetention } from './key-and-session-retention.js';
import { UsageRollups } from './usage-rollups.js';

/** Each room removes its own expired rows. Only workers need these classes, so they are provided here. */
const owners = [
  ExpireObjects,
  ExpireIdempotencyKeys,
  TaskObjects,
  ExpireUploads,
  ExpireWebhooks,
  ExpireSignIns,
  AuditLog,
];

const schedules = [
  ObjectRetention,
  StrayObjectRetention,
  LogRetention,
  LedgerRetention,
  KeyAndSessionRetention,
  UsageRollups,
  AlertEvaluation,
];

/** Schedules the removal of expired rows and objects, usage rollups, and the evaluation of alerts. */
@Module({
  imports: [AlertEvaluationModule, BillingModule, DatabaseModule, StorageModule, UploadRowsModule],
  providers: [Retention, ...schedules, CollectOrphans, ...owners],
})
export class MaintenanceModule {}

import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AuditLog } from '#accounts/audit-log.js';
import { ExpireLedger, LedgerLag, USAGE_DAY_DAYS, USAGE_HOUR_DAYS } from '#billing/expire-ledger.js';
import { WorkerConfig } from '../worker.config.js';
import { EXPIRE_EVERY_MS, Retention } from './retention.js';

/** Schedules the removal of records with a long retention: charges, usage, and the audit log. */
@Injectable()
export class LedgerRetention implements OnApplicationBootstrap {
  constructor(
    private readonly retention: Retention,
    private readonly ledger: ExpireLedger,
    private readonly lag: LedgerLag,
    private readonly audit: AuditLog,
    private readonly config: WorkerConfig,
  ) {}

  onApplicationBootstrap(): void {
    const { chargeRetentionDays } = this.config;
    this.retention.watch('charges', () => this.lag.charges(chargeRetentionDays));
    this.retention.watch('usage_hours', () => this.lag.usage('hour', USAGE_HOUR_DAYS));
    this.retention.watch('usage_days', () => this.lag.usage('day', USAGE_DAY_DAYS));
    this.retention.watch('audit_entries', () => this.audit.dueSince(this.config));
    this.retention.every(EXPIRE_EVERY_MS, 'ledger', () => this.ledger.run(this.config));
    this.retention.every(EXPIRE_EVERY_MS, 'audit_entries', () => this.audit.expire(this.config));
  }
}

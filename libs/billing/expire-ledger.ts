import { Injectable } from '@nestjs/common';
import { Logger } from '#telemetry/logger.js';
import { ChargeRepository } from './charge.repository.js';
import { dueSince, removeExpired } from './remove-expired.js';
import { UsageRepository } from './usage.repository.js';

/** Usage by hour is for the last days, which the console shows two of at a time: two months cover every question about them. */
export const USAGE_HOUR_DAYS = 62;
/** Usage by day is small, and is compared across years: five of them. */
export const USAGE_DAY_DAYS = 1_830;

interface Retention {
  readonly chargeRetentionDays: number;
}

/** Removes expired charges and usage; the monthly spend of each key is never removed. */
@Injectable()
export class ExpireLedger {
  constructor(
    private readonly charges: ChargeRepository,
    private readonly usage: UsageRepository,
    private readonly logger: Logger,
  ) {}

  /** Since when the oldest charges should be gone; undefined when none should. */
  async chargesDueSince({ chargeRetentionDays }: Retention): Promise<Date | undefined> {
    return await dueSince(chargeRetentionDays, (time) => this.charges.oldestBefore(time));
  }

  /** The same for usage by hour or by day. */
  async usageDueSince(step: 'hour' | 'day'): Promise<Date | undefined> {
    const days = step === 'hour' ? USAGE_HOUR_DAYS : USAGE_DAY_DAYS;
    return await dueSince(days, (time) => this.usage.oldestBefore(step, time));
  }

  /** Removes everything that has expired. Throws when the database fails; the next run continues. */
  async run({ chargeRetentionDays }: Retention): Promise<void> {
    await removeExpired(this.logger, 'usage_hours', USAGE_HOUR_DAYS, (time, limit) =>
      this.usage.removeBefore('hour', time, limit),
    );
    await removeExpired(this.logger, 'usage_days', USAGE_DAY_DAYS, (time, limit) =>
      this.usage.removeBefore('day', time, limit),
    );
    await removeExpired(this.logger, 'charges', chargeRetentionDays, (time, limit) =>
      this.charges.removeBefore(time, limit),
    );
  }
}

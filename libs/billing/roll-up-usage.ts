import { Injectable } from '@nestjs/common';
import { ROLL_UP_BATCH } from './billing.sql.js';
import { UsageRepository } from './usage.repository.js';

/** Bounds one run, so that a process can stop soon; the next run continues. */
const MAX_BATCHES = 100;

/** Rolls up usage since the last run. */
@Injectable()
export class RollUpUsage {
  constructor(private readonly usage: UsageRepository) {}

  /** Throws when the database fails; nothing counts twice, and the next run continues. */
  async run(): Promise<void> {
    for (let batch = 0; batch < MAX_BATCHES; batch++) {
      if ((await this.usage.rollUp()) < ROLL_UP_BATCH) return;
    }
  }
}

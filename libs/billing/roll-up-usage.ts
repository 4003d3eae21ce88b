import { Injectable } from '@nestjs/common';
import { ROLL_UP_BATCH } from './billing.sql.js';
import { UsageRepository } from './usage.repository.js';

/** So that a process that stops does not have to wait long; the next round goes on. */
const MOST_BATCHES = 100;

/** Adds up what has ended since the last round, and, once after an upgrade, all that ended before. */
@Injectable()
export class RollUpUsage {
  constructor(private readonly usage: UsageRepository) {}

  /** Throws when the database fails; nothing is counted twice then, and the next round goes on. */
  async run(): Promise<void> {
    for (let batch = 0; batch < MOST_BATCHES; batch++) {
      const count = await this.usage.rollUp();
      const old = count === ROLL_UP_BATCH ? 0 : await this.usage.backfill();
      if (count < ROLL_UP_BATCH && old === 0) return;
    }
  }
}

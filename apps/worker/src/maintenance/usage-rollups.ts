import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { RollUpUsage } from '#billing/roll-up-usage.js';
import { Retention } from './retention.js';

/** Usage that is not rolled up yet is read row by row, so those rows should stay few. */
const ROLL_UP_EVERY_MS = 5_000;

/** Schedules the rollup of usage. */
@Injectable()
export class UsageRollups implements OnApplicationBootstrap {
  constructor(
    private readonly retention: Retention,
    private readonly usage: RollUpUsage,
  ) {}

  onApplicationBootstrap(): void {
    this.retention.every(ROLL_UP_EVERY_MS, 'usage_rollup', () => this.usage.run());
  }
}

import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { RollUpUsage } from '#billing/roll-up-usage.js';
import { Retention } from './retention.js';

/** What has not been added up is read row by row, so there should be few of those rows. */
const ROLL_UP_EVERY_MS = 5_000;

/** Schedules the adding up of usage. */
@Injectable()
export class UsageRollups implements OnApplicationBootstrap {
  constructor(
    private readonly retention: Retention,
    private readonly usage: RollUpUsage,
  ) {}

  onApplicationBootstrap(): void {
    this.retention.every(ROLL_UP_EVERY_MS, () => this.usage.run());
  }
}

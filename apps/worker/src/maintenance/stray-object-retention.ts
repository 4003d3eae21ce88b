import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { CollectOrphans } from '#uploads/collect-orphans.js';
import { EXPIRE_EVERY_MS, Retention } from './retention.js';

/** Less often than anything else, because it lists every object of the store. */
const WALK_EVERY_MS = 24 * 3_600_000;

/** Schedules the removal of objects without a row, in each worker at its own time of the day. */
@Injectable()
export class StrayObjectRetention implements OnApplicationBootstrap {
  /** When the next walk is due, in ms since 1970. */
  private walkAt = Date.now() + Math.random() * WALK_EVERY_MS;

  constructor(
    private readonly retention: Retention,
    private readonly orphans: CollectOrphans,
  ) {}

  onApplicationBootstrap(): void {
    this.retention.watch('stray_objects', () => Promise.resolve(new Date(this.walkAt)));
    this.retention.every(EXPIRE_EVERY_MS, 'stray_objects', () => this.walk());
  }

  /** Stays due when it fails, so that it is tried again in ten minutes. */
  private async walk(): Promise<void> {
    if (Date.now() < this.walkAt) return;
    await this.orphans.run(Date.now());
    this.walkAt = Date.now() + WALK_EVERY_MS;
  }
}

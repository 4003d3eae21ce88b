import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { ExpireObjects } from '#tasks/expire-objects.js';
import { CollectOrphans } from '#uploads/collect-orphans.js';
import { ExpireUploads } from '#uploads/expire-uploads.js';
import { WorkerConfig } from '../worker.config.js';
import { EXPIRE_EVERY_MS, Retention } from './retention.js';

const COLLECT_EVERY_MS = 24 * 3_600_000;

/** Schedules the removal of expired objects and their rows. */
@Injectable()
export class ObjectRetention implements OnApplicationBootstrap {
  constructor(
    private readonly retention: Retention,
    private readonly tasks: ExpireObjects,
    private readonly uploads: ExpireUploads,
    private readonly orphans: CollectOrphans,
    private readonly config: WorkerConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.retention.watch('images', () => this.tasks.imagesDueSince(this.config));
    this.retention.watch('tasks', () => this.tasks.rowsDueSince(this.config));
    this.retention.watch('uploads', () => this.uploads.dueSince());
    this.retention.every(EXPIRE_EVERY_MS, () => this.tasks.run(this.config));
    this.retention.every(EXPIRE_EVERY_MS, () => this.uploads.run());
    this.retention.every(COLLECT_EVERY_MS, () => this.orphans.run(Date.now()));
  }
}

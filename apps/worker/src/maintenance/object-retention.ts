import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { StorageConfig } from '#storage/storage.config.js';
import { ExpireObjects } from '#tasks/retention/expire-objects.js';
import { IDEMPOTENCY_KEY_HOURS } from '#tasks/intake/task-intake.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { ExpireUploads } from '#uploads/expire-uploads.js';
import { EXPIRE_EVERY_MS, Retention } from './retention.js';

/** Schedules the removal of expired objects and their rows. */
@Injectable()
export class ObjectRetention implements OnApplicationBootstrap {
  constructor(
    private readonly retention: Retention,
    private readonly tasks: ExpireObjects,
    private readonly uploads: ExpireUploads,
    private readonly storage: StorageConfig,
    private readonly config: TasksConfig,
  ) {}

  onApplicationBootstrap(): void {
    const { imageRetentionHours } = this.storage;
    const { taskRetentionHours } = this.config;
    const hours = { imageRetentionHours, taskRetentionHours };
    this.retention.watch('images', () => this.tasks.imagesDueSince(hours));
    this.retention.watch('tasks', () => this.tasks.rowsDueSince(hours, IDEMPOTENCY_KEY_HOURS));
    this.retention.watch('uploads', () => this.uploads.dueSince());
    this.retention.every(EXPIRE_EVERY_MS, 'tasks', () => this.tasks.run(hours));
    this.retention.every(EXPIRE_EVERY_MS, 'uploads', () => this.uploads.run());
  }
}

import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { ExpireObjects } from '#tasks/retention/expire-objects.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { ExpireUploads } from '#uploads/expire-uploads.js';
import { WorkerConfig } from '../worker.config.js';
import { EXPIRE_EVERY_MS, Retention } from './retention.js';

/** Schedules the removal of expired objects and their rows. */
@Injectable()
export class ObjectRetention implements OnApplicationBootstrap {
  constructor(
    private readonly retention: Retention,
    private readonly tasks: ExpireObjects,
    private readonly uploads: ExpireUploads,
    private readonly config: WorkerConfig,
    private readonly tasksConfig: TasksConfig,
  ) {}

  onApplicationBootstrap(): void {
    const { idempotencyKeyRetentionHours } = this.tasksConfig;
    this.retention.watch('images', () => this.tasks.imagesDueSince(this.config));
    this.retention.watch('tasks', () => this.tasks.rowsDueSince(this.config, idempotencyKeyRetentionHours));
    this.retention.watch('uploads', () => this.uploads.dueSince());
    this.retention.every(EXPIRE_EVERY_MS, 'tasks', () => this.tasks.run(this.config));
    this.retention.every(EXPIRE_EVERY_MS, 'uploads', () => this.uploads.run());
  }
}

import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { ExpireChatUsage } from '#billing/expire-ledger.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { ExpireWebhooks } from '#webhooks/expire-webhooks.js';
import { WorkerConfig } from '../worker.config.js';
import { EXPIRE_EVERY_MS, Retention } from './retention.js';

/** Schedules the removal of old chat usage and webhook deliveries. */
@Injectable()
export class LogRetention implements OnApplicationBootstrap {
  constructor(
    private readonly retention: Retention,
    private readonly chats: ExpireChatUsage,
    private readonly webhooks: ExpireWebhooks,
    private readonly config: WorkerConfig,
    private readonly tasks: TasksConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.retention.watch('chats', () => this.chats.dueSince(this.config));
    this.retention.watch('deliveries', () => this.webhooks.dueSince(this.tasks));
    this.retention.every(EXPIRE_EVERY_MS, 'chats', () => this.chats.run(this.config));
    this.retention.every(EXPIRE_EVERY_MS, 'deliveries', () => this.webhooks.run(this.tasks));
  }
}

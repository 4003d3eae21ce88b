import type { Logger } from '#telemetry/logger.js';
import type { CollectOrphans } from './collect-orphans.js';
import type { ExpireChatUsage } from './expire-chat-usage.js';
import type { ExpireKeys } from './expire-keys.js';
import type { ExpireObjects } from './expire-objects.js';
import type { ExpireSignIns } from './expire-sign-ins.js';
import type { ExpireUploads } from './expire-uploads.js';
import type { ExpireWebhooks } from './expire-webhooks.js';

const EXPIRE_EVERY_MS = 10 * 60_000;
const COLLECT_EVERY_MS = 24 * 3_600_000;

/** Runs the clean-ups from time to time, in each worker at its own moment. */
export class Retention {
  private readonly timers: NodeJS.Timeout[] = [];

  constructor(
    private readonly expire: ExpireObjects,
    private readonly orphans: CollectOrphans,
    private readonly rows: {
      readonly chatUsage: ExpireChatUsage;
      readonly keys: ExpireKeys;
      readonly signIns: ExpireSignIns;
      readonly uploads: ExpireUploads;
      readonly webhooks: ExpireWebhooks;
    },
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.every(EXPIRE_EVERY_MS, () => this.expire.run());
    this.every(EXPIRE_EVERY_MS, () => this.rows.chatUsage.run());
    this.every(EXPIRE_EVERY_MS, () => this.rows.keys.run());
    this.every(EXPIRE_EVERY_MS, () => this.rows.signIns.run());
    this.every(EXPIRE_EVERY_MS, () => this.rows.uploads.run());
    this.every(EXPIRE_EVERY_MS, () => this.rows.webhooks.run());
    this.every(COLLECT_EVERY_MS, () => this.orphans.run(Date.now()));
  }

  stop(): void {
    for (const timer of this.timers) clearTimeout(timer);
  }

  private every(intervalMs: number, work: () => Promise<unknown>): void {
    const index = this.timers.length;
    const next = (delayMs: number): void => {
      this.timers[index] = setTimeout(() => {
        work()
          .catch((error: unknown) => {
            this.logger.warn('retention.failed', { error });
          })
          .finally(() => {
            next(intervalMs);
          });
      }, delayMs).unref();
    };
    next(Math.random() * intervalMs);
  }
}

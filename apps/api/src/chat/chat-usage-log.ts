import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ChatUsageRepository, type ChatUsageRow } from '#billing/chat-usage.repository.js';
import { Logger } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';

const TICK_MS = 1_000;
const BATCH = 500;
/** Rows kept during a database outage: a few megabytes at 300 bytes each. */
const MAX_WAITING = 20_000;

/**
 * Writes the usage of chats in batches, outside of requests. During a database outage rows are kept up to a limit; lost
 * rows are counted in the log.
 */
@Injectable()
export class ChatUsageLog implements OnApplicationShutdown {
  private waiting: ChatUsageRow[] = [];
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> | undefined;
  private lost = 0;

  constructor(
    private readonly usage: ChatUsageRepository,
    private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {}

  record(row: ChatUsageRow): void {
    const { model, provider, outcome } = row;
    this.metrics.chats.observe({ model, provider, outcome }, row.duration_ms / 1_000);
    if (row.status > 0) this.metrics.chatFirstByte.observe({ model, provider }, row.first_byte_ms / 1_000);
    if (this.waiting.length >= MAX_WAITING) {
      this.lost++;
      return;
    }
    this.waiting.push(row);
    this.timer ??= setInterval(() => void this.flush(), TICK_MS).unref();
  }

  /** Writes the remaining rows, if the database answers. */
  async onApplicationShutdown(): Promise<void> {
    await this.flush();
    await this.flush();
    clearInterval(this.timer);
    if (this.waiting.length > 0) this.logger.error('chat.usage_lost', { count: this.waiting.length });
  }

  private flush(): Promise<void> {
    this.writing ??= this.writeAll().finally(() => {
      this.writing = undefined;
    });
    return this.writing;
  }

  private async writeAll(): Promise<void> {
    if (this.lost > 0) this.logger.error('chat.usage_lost', { count: this.lost });
    this.lost = 0;
    try {
      while (this.waiting.length > 0) {
        const batch = this.waiting.slice(0, BATCH);
        await this.usage.add(batch);
        this.waiting = this.waiting.slice(batch.length);
      }
      clearInterval(this.timer);
      this.timer = undefined;
    } catch (error) {
      this.logger.warn('chat.usage_not_written', { count: this.waiting.length, error });
    }
  }
}

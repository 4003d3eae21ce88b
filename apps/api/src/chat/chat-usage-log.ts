import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ChatUsageRepository, type ChatUsageRow } from '#billing/chat-usage.repository.js';
import { Logger } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';
import { WaitingRows } from './waiting-rows.js';

const TICK_MS = 1_000;

/** Measures ended chats, and writes their usage in batches. */
@Injectable()
export class ChatUsageLog implements OnApplicationShutdown {
  private readonly rows: WaitingRows<ChatUsageRow>;

  constructor(
    usage: ChatUsageRepository,
    logger: Logger,
    private readonly metrics: Metrics,
  ) {
    const write = (rows: readonly ChatUsageRow[]): Promise<void> => usage.add(rows);
    this.rows = new WaitingRows({ name: 'chat.usage', write, everyMs: TICK_MS }, logger);
  }

  record(row: ChatUsageRow): void {
    const { model, provider, outcome } = row;
    this.metrics.chats.observe({ model, provider, outcome }, row.duration_ms / 1_000);
    if (row.status > 0) this.metrics.chatFirstByte.observe({ model, provider }, row.first_byte_ms / 1_000);
    this.rows.add(row);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.rows.close();
  }
}

import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';

const TICK_MS = 1_000;
const BATCH = 500;
/** Rows kept while the database does not answer: at 300 bytes each a few megabytes. */
const MAX_WAITING = 20_000;

/** One chat that was passed to a provider. */
export interface ChatUsageRow {
  readonly request_id: string;
  readonly account_id: string;
  readonly api_key_id: string;
  readonly model: string;
  readonly provider: string;
  readonly provider_key: string | null;
  readonly provider_model: string;
  readonly streamed: boolean;
  /** Of the provider's answer; 0 without one. */
  readonly status: number;
  readonly outcome: 'completed' | 'refused' | 'unanswered' | 'left' | 'broken';
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly cached_tokens: number | null;
  readonly first_byte_ms: number;
  readonly duration_ms: number;
  /** ISO 8601. */
  readonly created_at: string;
  /** Millionths; null when nobody can say. */
  readonly cost_micros: number | null;
}

const INSERT = `INSERT INTO chat_usage
  SELECT request_id, account_id, api_key_id, model, provider, provider_key, provider_model, streamed, status, outcome,
    input_tokens, output_tokens, cached_tokens, first_byte_ms, duration_ms, created_at, cost_micros
  FROM json_populate_recordset(NULL::chat_usage, $1) ON CONFLICT DO NOTHING`;

/**
 * Writes down what chats have used: in batches, off every request's path; a trigger counts it into the budgets. Without the database rows wait, as many as
 * fit; what is lost is counted in the log.
 */
@Injectable()
export class ChatUsageLog implements OnApplicationShutdown {
  private waiting: ChatUsageRow[] = [];
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> | undefined;
  private lost = 0;

  constructor(
    private readonly prisma: PrismaService,
    private readonly logger: Logger,
  ) {}

  record(row: ChatUsageRow): void {
    if (this.waiting.length >= MAX_WAITING) {
      this.lost++;
      return;
    }
    this.waiting.push(row);
    this.timer ??= setInterval(() => void this.flush(), TICK_MS).unref();
  }

  /** Writes what is left, if the database takes it. */
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
        await this.prisma.pool.query({ name: 'chat_usage', text: INSERT, values: [JSON.stringify(batch)] });
        this.waiting = this.waiting.slice(batch.length);
      }
      clearInterval(this.timer);
      this.timer = undefined;
    } catch (error) {
      this.logger.warn('chat.usage_not_written', { count: this.waiting.length, error });
    }
  }
}

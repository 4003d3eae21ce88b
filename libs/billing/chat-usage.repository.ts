import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { insertRows } from './billing.sql.js';

/** One chat that was passed to a provider, as its row has it. */
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

/** What chats have used. A trigger counts what is added into the budgets (ledger.sql). */
@Injectable()
export class ChatUsageRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Adds rows; what is there already stays as it is, and is not counted again. */
  async add(rows: readonly ChatUsageRow[]): Promise<void> {
    await insertRows(this.prisma, 'chat_usage', rows);
  }

  /** When the oldest row from before a time was made. */
  async oldestBefore(time: Date): Promise<Date | undefined> {
    const where = { createdAt: { lt: time } };
    const [orderBy, select] = [{ createdAt: 'asc' as const }, { createdAt: true }];
    return (await this.prisma.chatUsage.findFirst({ where, orderBy, select }))?.createdAt;
  }

  /** Removes so many rows at most from before a time; answers with their number. */
  async removeBefore(time: Date, limit: number): Promise<number> {
    return (await this.prisma.chatUsage.deleteMany({ where: { createdAt: { lt: time } }, limit })).count;
  }
}

import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { insertChats } from './billing.sql.js';

/** A row of a chat that was sent to a provider. */
export interface ChatUsageRow {
  readonly request_id: string;
  readonly account_id: string;
  readonly api_key_id: string;
  readonly model: string;
  readonly provider: string;
  readonly provider_key: string | null;
  readonly provider_model: string;
  readonly streamed: boolean;
  /** Status of the provider's response; 0 without one. */
  readonly status: number;
  readonly outcome: 'completed' | 'refused' | 'unanswered' | 'left' | 'broken';
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly cached_tokens: number | null;
  readonly first_byte_ms: number;
  readonly duration_ms: number;
  /** ISO 8601. */
  readonly created_at: string;
  /** Millionths; null when unknown. */
  readonly cost_micros: number | null;
  /** Identifier of the end user; null without one. */
  readonly end_user: string | null;
  /** Null without any. */
  readonly tags: readonly string[] | null;
  /** What the provider refused for its content, in a chat with an end user: the request, or its own answer. */
  readonly refused_stage: 'input' | 'output' | null;
}

/** Usage of chats. A trigger counts each new row into the budgets (ledger.sql), and one its refusals. */
@Injectable()
export class ChatUsageRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Adds rows; existing ones stay as they are, and are not counted again. */
  async add(rows: readonly ChatUsageRow[]): Promise<void> {
    await insertChats(this.prisma, rows);
  }

  /** Creation time of the oldest row from before a time. */
  async oldestBefore(time: Date): Promise<Date | undefined> {
    const where = { createdAt: { lt: time } };
    const orderBy = { createdAt: 'asc' as const };
    const select = { createdAt: true };
    return (await this.prisma.chatUsage.findFirst({ where, orderBy, select }))?.createdAt;
  }

  /** Removes the oldest `limit` rows from before a time, and those of the same moment as the last; returns their number. */
  async removeBefore(time: Date, limit: number): Promise<number> {
    const { chatUsage } = this.prisma;
    const last = await chatUsage.findFirst({
      where: { createdAt: { lt: time } },
      orderBy: { createdAt: 'asc' },
      skip: limit - 1,
      select: { createdAt: true },
    });
    // A range of the index: with a limit, the planner may join the batch with the whole table.
    const due = last === null ? { lt: time } : { lte: last.createdAt };
    return (await chatUsage.deleteMany({ where: { createdAt: due } })).count;
  }
}

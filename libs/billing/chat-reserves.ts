import { Injectable } from '@nestjs/common';
import { wasRolledBack } from '#database/database-errors.js';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { reserveChat, type BeginningChat } from './billing.sql.js';

/** Reserves of budgets for chats in progress. */
@Injectable()
export class ChatReserves {
  /** Chats that were refused because the database had not answered; it may have reserved for them all the same. */
  private readonly doubtful;

  constructor(private readonly prisma: PrismaService) {
    this.doubtful = prisma.repeated<string>((requestIds) => this.releaseDoubtful(requestIds));
  }

  /**
   * Reserves what a chat may cost, in millionths, until it is recorded or `lifeMs` have passed; null = unknown. Without
   * a budget, it does nothing. Throws an error for `refusalOf` (budget-refusal.ts) when a budget is used up. After any
   * error the chat must not be sent, and what may have been reserved is released.
   */
  async reserve(chat: BeginningChat, amount: number | null, lifeMs: number): Promise<void> {
    await reserveChat(this.prisma.pool, chat, amount, lifeMs).catch((error: unknown) => {
      if (!wasRolledBack(error)) this.doubtful.add(chat.requestId);
      throw error;
    });
  }

  /** Releases the reserve of a chat that was never sent; false when there was none. */
  async release(requestId: string): Promise<boolean> {
    return (await this.prisma.chatReserve.deleteMany({ where: { requestId } })).count === 1;
  }

  /** Releases reserves of chats whose process was lost before it recorded them; returns their number. */
  async releaseLost(): Promise<number> {
    const where = { expiresAt: { lt: new Date() } };
    const lost = await this.prisma.chatReserve.findMany({ where, select: { requestId: true } });
    return (await this.releaseEach(lost)).length;
  }

  private async releaseDoubtful(requestIds: readonly string[]): Promise<string[]> {
    const where = { requestId: { in: inList(requestIds) } };
    return this.releaseEach(await this.prisma.chatReserve.findMany({ where, select: { requestId: true } }));
  }

  /** One by one, because locking the budgets of many owners at once could deadlock. */
  private async releaseEach(reserves: readonly { readonly requestId: string }[]): Promise<string[]> {
    const released: string[] = [];
    for (const { requestId } of reserves) if (await this.release(requestId)) released.push(requestId);
    return released;
  }
}

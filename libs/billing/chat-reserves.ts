import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { reserveChat, type BeginningChat } from './billing.sql.js';

/** Reserves of budgets for chats in progress. */
@Injectable()
export class ChatReserves {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * Reserves what a chat may cost, in millionths, until it is recorded or `lifeMs` have passed; null = unknown. Without
   * a budget, it does nothing. Throws an error for `refusalOf` (budget-refusal.ts) when a budget is used up.
   */
  async reserve(chat: BeginningChat, amount: number | null, lifeMs: number): Promise<void> {
    await reserveChat(this.prisma.pool, chat, amount, lifeMs);
  }

  /** Releases the reserve of a chat that was never sent; false when there was none. */
  async release(requestId: string): Promise<boolean> {
    return (await this.prisma.chatReserve.deleteMany({ where: { requestId } })).count === 1;
  }

  /** Releases reserves of chats whose process was lost before it recorded them; returns their number. */
  async releaseLost(): Promise<number> {
    const where = { expiresAt: { lt: new Date() } };
    const lost = await this.prisma.chatReserve.findMany({ where, select: { requestId: true } });
    let released = 0;
    // One by one, because locking the budgets of many owners at once could deadlock.
    for (const { requestId } of lost) if (await this.release(requestId)) released++;
    return released;
  }
}

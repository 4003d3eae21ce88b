import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { reserveChat, type BeginningChat } from './billing.sql.js';

/** What is set aside of budgets for chats that are under way. */
@Injectable()
export class ChatReserves {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * Sets aside what a chat may cost, in millionths, until it is written down or `lifeMs` are over; null when that is not
   * known. Who has no budget is let pass. Throws what `refusalOf` (budget-refusal.ts) reads when a budget is used up.
   */
  async reserve(chat: BeginningChat, amount: number | null, lifeMs: number): Promise<void> {
    await reserveChat(this.prisma.pool, chat, amount, lifeMs);
  }

  /** Gives back what was set aside for a chat that was never sent; false when there was nothing. */
  async release(requestId: string): Promise<boolean> {
    return (await this.prisma.chatReserve.deleteMany({ where: { requestId } })).count === 1;
  }

  /** Gives back what was set aside for chats whose process was lost before it wrote them down; answers with their number. */
  async releaseLost(): Promise<number> {
    const where = { expiresAt: { lt: new Date() } };
    const lost = await this.prisma.chatReserve.findMany({ where, select: { requestId: true } });
    let released = 0;
    // One by one: whoever locks the budgets of many owners at once would wait for others in a circle.
    for (const { requestId } of lost) if (await this.release(requestId)) released++;
    return released;
  }
}

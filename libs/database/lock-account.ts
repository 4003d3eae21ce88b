import type { PrismaService } from './prisma.service.js';

/**
 * For whoever counts something of an account before adding to it: of two that do so at once the second waits here until
 * the first has ended its transaction. A write that changes nothing, for Prisma knows no other lock of a row.
 */
export async function lockAccount(transaction: Pick<PrismaService, 'account'>, accountId: string): Promise<void> {
  await transaction.account.updateMany({ where: { id: accountId }, data: { weight: { increment: 0 } } });
}

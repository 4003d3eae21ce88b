import type { PrismaService } from '#database/prisma.service.js';

/**
 * Of a deleted task: ends the deliveries that are still tried, and erases what receivers answered. An attempt that is
 * being made loses its row, so that its answer is written nowhere.
 */
export async function eraseDeliveries(
  database: Pick<PrismaService, 'webhookDelivery' | 'webhookAttempt'>,
  taskId: string,
): Promise<void> {
  await database.webhookDelivery.updateMany({
    where: { taskId, state: 'pending' },
    data: { state: 'failed', endedAt: new Date(), nextTryAt: null, leaseUntil: null },
  });
  const delivery = { taskId };
  await database.webhookAttempt.deleteMany({ where: { delivery, status: null, error: null } });
  await database.webhookAttempt.updateMany({ where: { delivery, answer: { not: null } }, data: { answer: null } });
}

import { inList } from '#database/prisma-values.js';
import type { Transaction } from '#database/queryable.js';

/** The tasks among these whose deliveries are still tried, or have ended since a time. */
export async function tasksWithDeliveries(
  database: Transaction,
  taskIds: readonly string[],
  endedSince?: Date,
): Promise<ReadonlySet<string>> {
  const found = await database.webhookDelivery.findMany({
    where: {
      taskId: { in: inList(taskIds) },
      OR: [{ state: 'pending' }, ...(endedSince === undefined ? [] : [{ endedAt: { gt: endedSince } }])],
    },
    select: { taskId: true },
  });
  return new Set(found.flatMap(({ taskId }) => taskId ?? []));
}

import type { PrismaService } from '#database/prisma.service.js';

type Database = Pick<PrismaService, 'storedInputs'>;

/** Bytes of the reference images that are stored with an account's requests; they count in its quota. */
export async function storedInputBytes(database: Database, accountId: string): Promise<number> {
  const { _sum: sum } = await database.storedInputs.aggregate({ where: { accountId }, _sum: { bytes: true } });
  return Number(sum.bytes ?? 0);
}

/** Counts the images of a request whose task has no row yet. */
export async function countStoredInputs(
  database: Database,
  taskId: string,
  accountId: string,
  bytes: number,
): Promise<void> {
  await database.storedInputs.create({ data: { taskId, accountId, bytes } });
}

/** No longer counts the images of these tasks: they were, or are about to be, deleted. */
export async function forgetStoredInputs(database: Database, taskIds: readonly string[]): Promise<void> {
  if (taskIds.length > 0) await database.storedInputs.deleteMany({ where: { taskId: { in: [...taskIds] } } });
}

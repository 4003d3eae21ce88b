import type { PrismaService } from '#database/prisma.service.js';
import type { ServiceSample } from '#queue/service-times.js';
import { kindOf, serviceKind } from './service-kind.js';
import type { TaskOptions } from './task.js';

/** More than the shared record keeps of all kinds together. */
const MOST = 500;

/** How long the latest completed tasks took from start to end, oldest first: what the shared record is made of anew. */
export async function recentServiceTimes(database: PrismaService): Promise<ServiceSample[]> {
  const { rows } = await database.pool.query<{ model: string; options: TaskOptions; provider: string; ms: number }>(
    `SELECT model, options, provider, EXTRACT(EPOCH FROM finished_at - started_at)::float8 * 1000 AS ms FROM tasks
     WHERE status <> 'pending' AND status = 'completed' AND provider IS NOT NULL AND started_at IS NOT NULL
     ORDER BY finished_at DESC LIMIT ${MOST}`,
  );
  return rows.reverse().map(({ provider, ms, ...task }) => ({ kind: serviceKind(kindOf(task), provider), ms }));
}

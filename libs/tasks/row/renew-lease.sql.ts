import type { Queryable } from '#database/queryable.js';
import { batch, HELD_IN_BATCH, ofBatch } from './task-batch.sql.js';
import type { Lease } from './task.js';

const RENEW = {
  name: 'task_renew',
  text: `UPDATE tasks SET lease_until = now() + $2 * interval '1 millisecond' FROM ${ofBatch('fence int')}
    WHERE ${HELD_IN_BATCH} AND lease_until IS NOT NULL RETURNING id, attempt`,
};

/** Extends many leases at once; returns those that are still held. */
export async function renewLeases(database: Queryable, leases: readonly Lease[], leaseMs: number): Promise<Lease[]> {
  const items = leases.map(({ id, attempt }) => ({ task: id, fence: attempt }));
  return (await database.query<Lease>({ ...RENEW, values: [batch(items), leaseMs] })).rows;
}

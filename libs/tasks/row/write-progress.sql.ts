import type { Queryable } from '#database/queryable.js';
import { batch, HELD_IN_BATCH, NOT_DURABLE, ofBatch } from './task-batch.sql.js';
import type { Lease } from './task.js';

const PROGRESS = {
  name: 'task_progress',
  text: `UPDATE tasks SET progress = GREATEST(progress, LEAST(percent, 99)), phase = shown
    FROM ${ofBatch('fence int, percent int, shown text')}
    WHERE ${HELD_IN_BATCH} AND phase IN ('running', shown) AND ${NOT_DURABLE} RETURNING id, attempt`,
};

/** The progress of a task. */
export interface Progress {
  readonly lease: Lease;
  /** A whole number. */
  readonly percent: number;
  readonly phase: 'running' | 'storing';
}

/** Writes progress, which never decreases; returns the leases for which it did. */
export async function writeProgress(database: Queryable, steps: readonly Progress[]): Promise<Lease[]> {
  const items = steps.map(({ lease: { id, attempt }, percent, phase }) => {
    return { task: id, fence: attempt, percent, shown: phase };
  });
  return (await database.query<Lease>({ ...PROGRESS, values: [batch(items)] })).rows;
}

import type { QueueCaller } from '#queue/fair-order.js';
import type { TaskCommand } from './task.js';

/**
 * Who takes the turns of an account's batches: none of its keys, so that a key has no debt from its own batch. Also in
 * the statements of task-columns.ts.
 */
export const BATCH_TURNS = 'batches';

/**
 * Their weight, relative to the account's keys: a request of a key of weight 1 runs before all that wait of a batch, and
 * while that key has more waiting, a batch gets one turn in seventeen.
 */
export const BATCH_WEIGHT = 1 / 16;

/** Whose turns a new task takes: its batch's, or those of its first label that has a weight, or its key's. */
export function turnTakerOf(task: QueueCaller & Pick<TaskCommand, 'batchId' | 'labelLimits'>): QueueCaller {
  const { accountId, accountWeight, originalKeyId, weight, batchId, labelLimits = [] } = task;
  if (batchId !== undefined) return { accountId, accountWeight, originalKeyId: BATCH_TURNS, weight: BATCH_WEIGHT };
  const label = labelLimits.find((one) => one.weight !== null);
  if (label === undefined) return { accountId, accountWeight, originalKeyId, weight };
  return { accountId, accountWeight, originalKeyId: label.id, weight: label.weight ?? weight };
}

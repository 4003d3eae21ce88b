import type { QueueCaller } from '#queue/fair-order.js';

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

/** Whose turns a new task takes. */
export function turnTakerOf(task: QueueCaller & { readonly batchId?: string | undefined }): QueueCaller {
  const { accountId, accountWeight, originalKeyId, weight, batchId } = task;
  if (batchId === undefined) return { accountId, accountWeight, originalKeyId, weight };
  return { accountId, accountWeight, originalKeyId: BATCH_TURNS, weight: BATCH_WEIGHT };
}

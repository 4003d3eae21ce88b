import { buffer } from 'node:stream/consumers';
import type { Batch, BatchLine } from '#batches/batch.js';
import { AppError } from '#contract/app-error.js';
import { uploadKey } from '#storage/object-key.js';
import { ObjectNotFound, type ObjectStore } from '#storage/object-store.js';
import { bodyOf } from './input-lines.js';

/**
 * The body of the request in a line that was checked before. Throws AppError `file_not_found`, StorageError, and Error
 * when the store ignores ranges: it would send the whole file for each line.
 */
export async function readLine(
  store: ObjectStore,
  { inputFileId }: Pick<Batch, 'inputFileId'>,
  { position, bytes }: Pick<BatchLine, 'position' | 'bytes'>,
): Promise<object> {
  const range = { first: position, last: position + bytes - 1 };
  const stored = await store.open(uploadKey(inputFileId), { range }).catch((cause: unknown) => {
    if (!(cause instanceof ObjectNotFound)) throw cause;
    throw new AppError('file_not_found', 'The input file of the batch was deleted.', { cause });
  });
  if (stored.bytes !== bytes || stored.part?.first !== position) {
    stored.stream.destroy();
    throw new Error('the store did not send the range of the line');
  }
  return bodyOf(await buffer(stored.stream));
}

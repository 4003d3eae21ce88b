import type { BatchView } from '#contract/batch-view.js';
import { unixSeconds } from '#contract/image-result.js';
import type { StoredFileView } from '#contract/stored-file-view.js';
import type { Batch } from '#batches/batch.js';
import type { StoredFile } from '#uploads/upload.repository.js';

/** A file as callers see it. */
export function fileView({ id, bytes, createdAt, expiresAt, fileName, purpose }: StoredFile): StoredFileView {
  const times = { created_at: unixSeconds(createdAt), expires_at: unixSeconds(expiresAt) };
  return { id, object: 'file', bytes, ...times, filename: fileName, purpose, status: 'processed' };
}

/** A batch as callers see it. */
export function batchView(batch: Batch): BatchView {
  const { status, endedAt, problems } = batch;
  const endedWith = (last: Batch['status']): number | null => (status === last ? secondsOf(endedAt) : null);
  return {
    id: batch.id,
    object: 'batch',
    endpoint: batch.endpoint,
    errors: problems === null ? null : { object: 'list', data: [...problems] },
    input_file_id: batch.inputFileId,
    completion_window: '24h',
    status,
    // Named before they are written.
    output_file_id: endedAt === null ? null : batch.outputFileId,
    error_file_id: endedAt === null ? null : batch.errorFileId,
    created_at: unixSeconds(batch.createdAt),
    in_progress_at: secondsOf(batch.inProgressAt),
    expires_at: unixSeconds(batch.expiresAt),
    finalizing_at: secondsOf(batch.finalizingAt),
    completed_at: endedWith('completed'),
    failed_at: endedWith('failed'),
    expired_at: endedWith('expired'),
    cancelling_at: secondsOf(batch.cancellingAt),
    cancelled_at: endedWith('cancelled'),
    request_counts: { total: batch.total, completed: batch.completed, failed: batch.failed },
    metadata: batch.metadata,
  };
}

/** A page of a list as OpenAI's SDKs read it. */
interface Page<T> {
  object: 'list';
  data: T[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
}

/** The page of these items. */
export function pageOf<T extends { readonly id: string }>(data: T[], hasMore: boolean): Page<T> {
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}

function secondsOf(time: Date | null): number | null {
  return time === null ? null : unixSeconds(time);
}

import { Inject, Injectable } from '@nestjs/common';
import { buffer } from 'node:stream/consumers';
import type { Batch, ClaimedLine, LineOutcome } from '#batches/batch.js';
import { AppError } from '#contract/app-error.js';
import { isDatabaseUnavailable } from '#database/database-errors.js';
import { uploadKey } from '#storage/object-key.js';
import { ObjectNotFound, StorageError, type ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { CallerGone, type OpenCall } from '#tasks/intake/open-call.js';
import { newRequestId } from '#tasks/row/task-id.js';
import { Logger } from '#telemetry/logger.js';
import type { Caller } from '../auth/caller.js';
import { appErrorOf } from '../common/framework-error.js';
import { AcceptImage } from '../images/accept-image.js';
import { readFiled } from '../images/read-request.js';
import { bodyOf } from './input-lines.js';
import { refusalOf } from './line-outcome.js';

/** Errors that say nothing about the request: it is sent again later, as a caller would. */
const STATUSES_TO_RETRY: readonly number[] = [429, 503];
const DEFAULT_RETRY_MS = 5_000;
const MAX_RETRY_MS = 10_000;

/** What became of a line: a task, the response that it was refused with, or neither yet. */
export type Submission = { readonly taskId: string } | { readonly outcome: LineOutcome } | { readonly retryMs: number };

/** Sends one line of a batch through the same acceptance as a request over HTTP. */
@Injectable()
export class SubmitLine {
  constructor(
    private readonly accept: AcceptImage,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly logger: Logger,
  ) {}

  /**
   * However often a line is submitted, it becomes one task: its idempotency key stands for it. Throws CallerGone when
   * `gone` aborts, and what the database throws.
   */
  async submit(batch: Batch, line: ClaimedLine, caller: Caller, gone: AbortSignal): Promise<Submission> {
    const requestId = newRequestId();
    const call: OpenCall = { gone, ageMs: () => 0 };
    try {
      const body = await this.read(batch, line);
      const action = batch.endpoint === '/v1/images/edits' ? 'edit' : 'generation';
      const mark = { kind: 'keyed', key: lineKey(batch, line) } as const;
      const ask = () => readFiled({ action, body, mark, requestId, batchId: batch.id });
      return { taskId: (await this.accept.accept(ask, caller, call)).task.id };
    } catch (error) {
      return this.refused(error, requestId);
    }
  }

  private async read({ inputFileId }: Batch, { position, bytes }: ClaimedLine): Promise<object> {
    const range = { first: position, last: position + bytes - 1 };
    const stored = await this.store.open(uploadKey(inputFileId), { range }).catch((cause: unknown) => {
      if (!(cause instanceof ObjectNotFound)) throw cause;
      throw new AppError('file_not_found', 'The input file of the batch was deleted.', { cause });
    });
    return bodyOf(await buffer(stored.stream));
  }

  private refused(error: unknown, requestId: string): Submission {
    if (error instanceof CallerGone || isDatabaseUnavailable(error)) throw error;
    if (error instanceof StorageError) return { retryMs: DEFAULT_RETRY_MS };
    const refusal = appErrorOf(error);
    if (STATUSES_TO_RETRY.includes(refusal.status) || refusal.code === 'idempotency_in_progress') {
      const { retryAfter } = refusal;
      return { retryMs: retryAfter === undefined ? DEFAULT_RETRY_MS : Math.min(retryAfter * 1_000, MAX_RETRY_MS) };
    }
    if (refusal.status >= 500) this.logger.warn('batch.line_failed', { requestId, code: refusal.code, error });
    return { outcome: refusalOf(refusal, requestId) };
  }
}

/** The idempotency key of a line. No caller can send it, because it has spaces. */
export function lineKey({ id }: Pick<Batch, 'id'>, { line, late }: ClaimedLine): string {
  return `${id} ${line} ${late}`;
}

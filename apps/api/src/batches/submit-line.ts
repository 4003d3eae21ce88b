import { Inject, Injectable } from '@nestjs/common';
import type { Batch, ClaimedLine, LineFormat, LineOutcome } from '#batches/batch.js';
import { isDatabaseUnavailable } from '#database/database-errors.js';
import { StorageError, type ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { CallerGone, type OpenCall } from '#tasks/intake/open-call.js';
import { newRequestId } from '#tasks/row/task-id.js';
import { Logger } from '#telemetry/logger.js';
import type { Caller } from '../auth/caller.js';
import { appErrorOf } from '../common/framework-error.js';
import { AcceptImage } from '../images/accept-image.js';
import { readFiled } from '../images/read-request.js';
import { refusalOf } from './line-outcome.js';
import { readLine } from './read-line.js';

/** Errors that say nothing about the request: it is sent again later, as a caller would. */
const STATUSES_TO_RETRY: readonly number[] = [429, 503];
/** A limit of its key or account is reached, and it has become no task. */
const LIMIT_REACHED = 429;
const DEFAULT_RETRY_MS = 5_000;
const MAX_RETRY_MS = 10_000;

/** A line that is to be sent again, after so many ms. */
interface RefusedForNow {
  readonly retryMs: number;
  /** Whether it is certain that it has not become a task. */
  readonly hasNoTask: boolean;
}

/** What became of a line: a task, the response that it was refused with, or neither yet. */
export type Submission =
  { readonly taskId: string; readonly format: LineFormat } | { readonly outcome: LineOutcome } | RefusedForNow;

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
      const body = await readLine(this.store, batch, line);
      const action = batch.endpoint === '/v1/images/edits' ? 'edit' : 'generation';
      const mark = { kind: 'keyed', key: lineKey(batch, line) } as const;
      const ask = () => readFiled({ action, body, mark, requestId, batchId: batch.id });
      const { task, format } = await this.accept.accept(ask, caller, call);
      return { taskId: task.id, format };
    } catch (error) {
      return this.refused(error, requestId);
    }
  }

  private refused(error: unknown, requestId: string): Submission {
    if (error instanceof CallerGone || isDatabaseUnavailable(error)) throw error;
    if (error instanceof StorageError) return { retryMs: DEFAULT_RETRY_MS, hasNoTask: false };
    const refusal = appErrorOf(error);
    if (STATUSES_TO_RETRY.includes(refusal.status) || refusal.code === 'idempotency_in_progress') {
      const { retryAfter, status } = refusal;
      const retryMs = retryAfter === undefined ? DEFAULT_RETRY_MS : Math.min(retryAfter * 1_000, MAX_RETRY_MS);
      return { retryMs, hasNoTask: status === LIMIT_REACHED };
    }
    if (refusal.status >= 500) this.logger.warn('batch.line_failed', { requestId, code: refusal.code, error });
    return { outcome: refusalOf(refusal, requestId) };
  }
}

/** The idempotency key of a line. No caller can send it, because it has spaces. */
export function lineKey({ id }: Pick<Batch, 'id'>, { line, late }: ClaimedLine): string {
  return `${id} ${line} ${late}`;
}

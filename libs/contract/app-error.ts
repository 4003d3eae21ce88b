import { errorKind, publicCode, type ErrorCode, type ErrorType } from './error-codes.js';

interface AppErrorDetails {
  /** The request field at fault, e.g. `image_urls[3]`. */
  readonly param?: string;
  /** The task this error belongs to, once one was accepted. */
  readonly taskId?: string;
  /** Seconds to wait before another try. */
  readonly retryAfter?: number;
  /** What happened, for the log only. */
  readonly cause?: unknown;
}

/**
 * An error that knows its fate: its code decides status and class, its message is safe to show.
 * Anything else that is thrown is a bug and becomes a plain `internal_error`.
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly param: string | undefined;
  readonly taskId: string | undefined;
  readonly retryAfter: number | undefined;

  constructor(
    readonly code: ErrorCode,
    message: string,
    details: AppErrorDetails = {},
  ) {
    super(message, { cause: details.cause });
    this.param = details.param;
    this.taskId = details.taskId;
    this.retryAfter = details.retryAfter;
  }

  get status(): number {
    return errorKind(this.code).status;
  }
}

/** The inner `error` object of every error answer, and the error of a failed task. */
export interface ErrorDetail {
  type: ErrorType;
  code: string | null;
  message: string;
  param: string | null;
}

/** The one error body. */
export interface ErrorBody {
  type: 'error';
  error: ErrorDetail & { task_id?: string };
  request_id: string;
  /** The HTTP status, on `/v1/tasks*` only. */
  code?: number;
}

/** What a caller is told of an AppError. */
export function errorDetail(error: AppError): ErrorDetail {
  return {
    type: errorKind(error.code).type,
    code: publicCode(error.code),
    message: error.message,
    param: error.param ?? null,
  };
}

import type { ModerationDetails } from './moderation-details.js';
import { errorKind, publicCode, type ErrorCode, type ErrorType } from './error-codes.js';

interface AppErrorDetails {
  /** The request field that caused the error, e.g. `image_urls[3]`. */
  readonly param?: string | undefined;
  /** The task that the error belongs to, if one was accepted. */
  readonly taskId?: string | undefined;
  /** Seconds to wait before a retry. */
  readonly retryAfter?: number | undefined;
  /** What the provider's moderation blocked. */
  readonly moderation?: ModerationDetails | undefined;
  /** The cause, for the log only. */
  readonly cause?: unknown;
}

/**
 * An expected error: its code determines the status and class, and its message is safe to show. Any other error is a
 * bug and becomes `internal_error`.
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly param: string | undefined;
  readonly taskId: string | undefined;
  readonly retryAfter: number | undefined;
  readonly moderation: ModerationDetails | undefined;

  constructor(
    readonly code: ErrorCode,
    message: string,
    details: AppErrorDetails = {},
  ) {
    super(message, { cause: details.cause });
    this.param = details.param;
    this.taskId = details.taskId;
    this.retryAfter = details.retryAfter;
    this.moderation = details.moderation;
  }

  get status(): number {
    return errorKind(this.code).status;
  }

  /** The same error in other words, about a field with another name. */
  about(param: string, message: string): AppError {
    const { code, taskId, retryAfter, moderation, cause } = this;
    return new AppError(code, message, { param, taskId, retryAfter, moderation, cause });
  }
}

/** The `error` object of every error response, and the error of a failed task. */
export interface ErrorDetail {
  type: ErrorType;
  code: string | null;
  message: string;
  param: string | null;
  /** Only of `moderation_blocked`, if the provider said more. */
  moderation_details?: ModerationDetails;
}

/** The body of every error response. */
export interface ErrorBody {
  type: 'error';
  error: ErrorDetail & { task_id?: string };
  request_id: string;
  /** The HTTP status, on `/v1/tasks*` only. */
  code?: number;
}

/** The part of an AppError that callers see. */
export function errorDetail(error: AppError): ErrorDetail {
  return {
    type: errorKind(error.code).type,
    code: publicCode(error.code),
    message: error.message,
    param: error.param ?? null,
    ...(error.moderation === undefined ? {} : { moderation_details: error.moderation }),
  };
}

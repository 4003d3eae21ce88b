import type { ErrorCode } from '#contract/error-codes.js';

/** What callers read when a vendor blocks a prompt or an image. */
export const BLOCKED = 'The provider’s safety system refused this request.';

interface ProviderErrorFate {
  /** Whether another start may succeed. */
  readonly retryable: boolean;
  /** Whether the vendor may have charged for the failed start. */
  readonly charged: 'no' | 'maybe' | 'yes';
  /** Seconds the vendor asked to wait. */
  readonly retryAfter?: number;
  readonly param?: string;
  /** The key was not let in or has had enough (401, 402, 403, 429); another one may do. */
  readonly keyRefused?: boolean;
  /** The HTTP status of the vendor's answer, or the one that its body names; absent when it is 200, or nobody answered. */
  readonly status?: number | undefined;
  /** The vendor's own words, as `providerMessage` leaves them. */
  readonly providerMessage?: string | undefined;
  /** What happened, for the log only. */
  readonly cause?: unknown;
}

/**
 * A vendor's failure, classified where it is known. The message is safe to show to callers; `providerMessage` is for
 * operators alone: it goes to the task's row, and to no log, answer, webhook, metric or span.
 */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly retryable: boolean;
  readonly charged: 'no' | 'maybe' | 'yes';
  readonly retryAfter: number | undefined;
  readonly param: string | undefined;
  readonly keyRefused: boolean;
  readonly status: number | undefined;
  readonly providerMessage: string | undefined;

  constructor(
    readonly code: ErrorCode,
    message: string,
    fate: ProviderErrorFate,
  ) {
    super(message, { cause: fate.cause });
    this.retryable = fate.retryable;
    this.charged = fate.charged;
    this.retryAfter = fate.retryAfter;
    this.param = fate.param;
    this.keyRefused = fate.keyRefused ?? false;
    this.status = fate.status;
    this.providerMessage = fate.providerMessage;
  }
}

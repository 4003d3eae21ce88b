import type { ErrorCode } from '#contract/error-codes.js';
import type { ModerationDetails } from '#contract/moderation-details.js';

/** Message for callers when a vendor blocks a prompt or an image. */
export const BLOCKED = 'The provider’s safety system refused this request.';

interface ProviderErrorFate {
  /** Whether another start may succeed. */
  readonly retryable: boolean;
  /** Whether the vendor may have charged for the failed start. */
  readonly charged: 'no' | 'maybe' | 'yes';
  /** Seconds that the vendor asked to wait. */
  readonly retryAfter?: number;
  readonly param?: string;
  /** The key was rejected or has reached its limit (401, 402, 403, 429); another key may work. */
  readonly keyRefused?: boolean;
  /**
   * The provider answered, and rejected this request (400, 413, 422, ...): no sign of an outage, and another key of the
   * same provider would get the same answer.
   */
  readonly isAboutRequest?: boolean;
  /** It limits our calls (429), or did not answer within a time limit. */
  readonly trouble?: 'limited' | 'late' | undefined;
  /** Why it rejected the request, in its own words, for the caller: without secrets and addresses. */
  readonly reason?: string | undefined;
  /** What its moderation blocked, for the caller. */
  readonly moderation?: ModerationDetails | undefined;
  /** HTTP status of the vendor's response, or the one in its body; absent if it is 200 or there was no response. */
  readonly status?: number | undefined;
  /** The vendor's own message, redacted by `providerMessage`. */
  readonly providerMessage?: string | undefined;
  /** The cause, for the log only. */
  readonly cause?: unknown;
}

/**
 * A vendor's failure, classified where its cause is known. The message is safe to show to callers. `providerMessage` is
 * only for operators: it is stored in the task's row and in the history of calls, and never put in a log, webhook, metric,
 * span, or response of the API. `reason` is only for the caller of the request, and never put in a log, metric, or span.
 */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly retryable: boolean;
  readonly charged: 'no' | 'maybe' | 'yes';
  readonly retryAfter: number | undefined;
  readonly param: string | undefined;
  readonly keyRefused: boolean;
  readonly isAboutRequest: boolean;
  readonly trouble: 'limited' | 'late' | undefined;
  readonly reason: string | undefined;
  readonly moderation: ModerationDetails | undefined;
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
    this.isAboutRequest = fate.isAboutRequest ?? false;
    this.trouble = fate.trouble;
    this.reason = fate.reason;
    this.moderation = fate.moderation;
    this.status = fate.status;
    this.providerMessage = fate.providerMessage;
  }
}

import type { ErrorCode } from '#contract/error-codes.js';

/** A call that is about to be made. */
export interface CallStart {
  /** Name of the catalog's entry. */
  readonly provider: string;
  /** Name of the key, never the key; empty where the provider has none. */
  readonly key: string;
  /** What the provider calls the model. */
  readonly model: string;
  /** Nothing is charged, whatever becomes of it. */
  readonly free: boolean;
}

/** The call that the first claim of a plain task begins, by the task's model. */
export type FirstCalls = Readonly<Record<string, CallStart>>;

/** How a call ended, as far as anybody knows. */
export interface CallEnd {
  /** `not_called`: it was written down, but never made. `unknown`: it was cut short, or its worker died. */
  readonly outcome: 'succeeded' | 'failed' | 'not_called' | 'unknown';
  readonly code?: ErrorCode;
  readonly charged: 'no' | 'maybe' | 'yes';
  /** The HTTP status of a failure, as `ProviderError` has it. */
  readonly status?: number;
  /** What the provider said of its failure, cleaned and cut. For operators in the console alone. */
  readonly providerMessage?: string;
}

/** A call in a task's row. Times are ISO 8601, by the database's clock. Without an end it runs, or nobody will know. */
export interface ProviderCall extends CallStart, Partial<CallEnd> {
  /** Which start of the task it is, from 1. */
  readonly n: number;
  readonly startedAt: string;
  readonly endedAt?: string;
  /** The provider's own name for the job, and when it told. */
  readonly upstreamId?: string;
  readonly acceptedAt?: string;
}

/** Whether money may have been spent on the call without anybody knowing. */
export function mayBeCharged({ free, endedAt, charged }: ProviderCall): boolean {
  return !free && (endedAt === undefined || charged === 'maybe');
}

/** The end of a call that was written down, but never made. */
export const NOT_CALLED: CallEnd = { outcome: 'not_called', charged: 'no' };

/** The end of a call that nobody saw. */
export function unknownEnd(free: boolean): CallEnd {
  return { outcome: 'unknown', charged: free ? 'no' : 'maybe' };
}

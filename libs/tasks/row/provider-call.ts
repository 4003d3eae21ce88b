import type { ErrorCode } from '#contract/error-codes.js';

/** A call about to be made. */
export interface CallStart {
  /** The provider's name in the catalog. */
  readonly provider: string;
  /** The name of its server among its provider's; absent where the provider has no list of them. */
  readonly server?: string;
  /** The server's region at the time of the call. */
  readonly region?: string;
  /** Name of the key, never the key; empty where the provider has none. */
  readonly key: string;
  /** What the provider calls the model. */
  readonly model: string;
  /** Never charged, however it ends. */
  readonly free: boolean;
}

/** The calls that the first claims of plain tasks begin, by model. */
export type FirstCalls = Readonly<Record<string, CallStart>>;

/** How a call ended, as far as is known. */
export interface CallEnd {
  /** `not_called`: it was recorded, but never made. `unknown`: it was interrupted, or its worker died. */
  readonly outcome: 'succeeded' | 'failed' | 'not_called' | 'unknown';
  readonly code?: ErrorCode;
  readonly charged: 'no' | 'maybe' | 'yes';
  /** Of a success: milliseconds from the provider's answer until its images were stored. */
  readonly storingMs?: number;
  /** The HTTP status of a failure, as `ProviderError` has it. */
  readonly status?: number;
  /** The provider's own message about its failure, sanitized and truncated; shown only to operators, in the console. */
  readonly providerMessage?: string;
}

/** A call in a task's row. Times are ISO 8601, by the database's clock. No end: running, or unknown. */
export interface ProviderCall extends CallStart, Partial<CallEnd> {
  /** Its number among the task's calls, from 1. */
  readonly n: number;
  readonly startedAt: string;
  readonly endedAt?: string;
  /** The provider's own job id, and when the provider returned it. */
  readonly upstreamId?: string;
  readonly acceptedAt?: string;
  /** What was adapted in the request before the provider returned the job id, for the attempt that fetches the job. */
  readonly adapted?: readonly string[];
}

/** Whether it is unknown if the call was charged. */
export function mayBeCharged({ free, endedAt, charged }: ProviderCall): boolean {
  return !free && (endedAt === undefined || charged === 'maybe');
}

/** The end of a call that was recorded, but never made. */
export const NOT_CALLED: CallEnd = { outcome: 'not_called', charged: 'no' };

/** The end of a call whose outcome is not known. */
export function unknownEnd(free: boolean): CallEnd {
  return { outcome: 'unknown', charged: free ? 'no' : 'maybe' };
}

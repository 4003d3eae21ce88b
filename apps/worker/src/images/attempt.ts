import type { Catalog } from '#catalog/catalog.js';
import type { ProviderEntry } from '#providers/provider-entry.js';
import { ProviderError } from '#providers/provider-error.js';
import { NOT_CALLED, unknownEnd, type CallEnd, type ProviderCall } from '#tasks/provider-call.js';
import type { ClaimedTask } from '#tasks/task-transitions.js';
import { StartNotCounted } from './failure-verdict.js';
import { type OpenSpan } from '#telemetry/spans.js';
import type { LeasedTask } from './leases.js';

/** A call of this attempt, or the one that an earlier attempt left open. */
export interface AttemptedCall {
  readonly provider: Pick<ProviderEntry, 'name' | 'free' | 'interrupted'>;
  /** The provider's own name of the job, once it has told. */
  jobId: string | undefined;
  /** Known before the row is told, while the attempt goes on elsewhere. */
  end: CallEnd | undefined;
}

/** One worker's try of a task, and how far it has come. */
export class Attempt {
  /** Calls of the task so far, this attempt's included. */
  starts: number;
  /** The call that began last. */
  call: AttemptedCall | undefined;
  /** The call that the claim has begun, until it is made or another one in its place. */
  begun: ProviderCall | undefined;

  constructor(
    readonly claimed: ClaimedTask,
    readonly lease: LeasedTask,
    readonly span: OpenSpan,
  ) {
    this.starts = claimed.providerStarts;
    this.begun = claimed.begun;
  }

  /** The call that an earlier attempt left open. A provider that is no longer known is trusted with nothing. */
  takeUp({ providers }: Catalog): AttemptedCall | undefined {
    const { providerCallOpen, providerJobId, lastCall } = this.claimed;
    if (!providerCallOpen) return undefined;
    const { provider: name = 'unknown', free = false } = lastCall ?? {};
    const { interrupted = 'fail' } = providers.get(name) ?? {};
    this.call = { provider: { name, free, interrupted }, jobId: providerJobId ?? undefined, end: undefined };
    return this.call;
  }

  /** Whether the last call's job can be asked for again instead of being ordered anew. */
  get resumable(): boolean {
    return this.call?.jobId !== undefined && this.call.end?.charged !== 'no';
  }

  /** How the last call is to be written down when the attempt ends with this error; undefined without one. */
  endWith(error: unknown): CallEnd | undefined {
    if (this.call === undefined) return this.begun && NOT_CALLED;
    return this.call.end ?? endOf(this.call.provider.free, error, this.lease.signal.aborted);
  }
}

/** How a call ended that ended with this error. What is free is never charged. */
export function endOf(free: boolean, error: unknown, aborted: boolean): CallEnd {
  if (error instanceof StartNotCounted) return NOT_CALLED;
  if (aborted || !(error instanceof ProviderError)) return unknownEnd(free);
  const { code, charged, status, providerMessage } = error;
  return {
    ...{ outcome: 'failed', code, charged: free ? 'no' : charged },
    ...(status === undefined ? {} : { status }),
    ...(providerMessage === undefined ? {} : { providerMessage }),
  };
}

/** Names a task in the log. */
export function identity({ task }: ClaimedTask): { taskId: string; requestId: string } {
  return { taskId: task.id, requestId: task.requestId };
}

/** How a call that brought an image ends: it was charged unless the provider is free. */
export function successOf(free: boolean): CallEnd {
  return { outcome: 'succeeded', charged: free ? 'no' : 'yes' };
}

import type { Catalog } from '#catalog/catalog.js';
import type { ProviderEntry } from '#providers/provider-entry.js';
import { ProviderError } from '#providers/provider-error.js';
import { NOT_CALLED, unknownEnd, type CallEnd, type ProviderCall } from '#tasks/row/provider-call.js';
import type { ClaimedTask } from '#tasks/states/task-transitions.js';
import { attemptIds, openSpan, recordWait, traceparentOf, type OpenSpan } from '#telemetry/spans.js';
import { StartNotCounted } from './failure-verdict.js';
import type { LeasedTask } from './leases.js';

/** A call of this attempt, or one that an earlier attempt left open. */
export interface AttemptedCall {
  readonly provider: Pick<ProviderEntry, 'name' | 'server' | 'free' | 'interrupted'>;
  /** The provider's own job, once the provider has named it. */
  providerJobId: string | undefined;
  /** How the call ended; set before it is written to the row, while the attempt tries another provider. */
  end: CallEnd | undefined;
  /** How long it has taken, in ms, once the provider has answered or was given up, until the call is counted. */
  tookMs?: number | undefined;
}

/** One worker's attempt at a task, and its progress. */
export class Attempt {
  /** Provider calls of the task so far, including this attempt's. */
  starts: number;
  /** The latest call. */
  call: AttemptedCall | undefined;
  /** The call that the claim already counted, until it is made or replaced by another. */
  begun: ProviderCall | undefined;
  /** The store may still carry out a write that this attempt, or an earlier one, gave up. */
  mayStoreLate: boolean;

  constructor(
    readonly claimed: ClaimedTask,
    readonly lease: LeasedTask,
    readonly span: OpenSpan,
  ) {
    this.starts = claimed.providerStarts;
    this.begun = claimed.begun;
    this.mayStoreLate = claimed.mayStoreLate;
  }

  /**
   * Makes the call that an earlier attempt left open, if any, the latest one. An unknown provider counts as one that
   * can't safely be called again.
   */
  readOpenCall({ providers }: Catalog): void {
    const { providerCallOpen, providerJobId, lastCall } = this.claimed;
    if (!providerCallOpen) return;
    const { provider: name = 'unknown', server, free = false } = lastCall ?? {};
    const { interrupted = 'fail' } = providers.get(name) ?? {};
    this.call = {
      provider: { name, server, free, interrupted },
      providerJobId: providerJobId ?? undefined,
      end: undefined,
    };
  }

  /** Whether the last call's job can be fetched instead of ordering a new one. */
  get resumable(): boolean {
    return this.call?.providerJobId !== undefined && this.call.end?.charged !== 'no';
  }

  /** Once it has ended: whether no worker can store an image of the task any more, as far as this one knows. */
  get isLast(): boolean {
    return this.claimed.losses === 0 && !this.mayStoreLate;
  }

  /** How to record the last call when the attempt ends with this error; undefined when there was no call. */
  endWith(error: unknown): CallEnd | undefined {
    if (this.call === undefined) return this.begun && NOT_CALLED;
    return this.call.end ?? endOf(this.call.provider.free, error, this.lease.signal.aborted);
  }
}

/**
 * Opens the span of an attempt, linked to the previous attempt, and records a span of the wait before it. `queuedAt`:
 * when the job was added, in ms since the epoch; only the first attempt's wait is known without it.
 */
export function attemptSpan(claimed: ClaimedTask, queuedAt: number | undefined): OpenSpan {
  const { task, attempt, losses, traceParent } = claimed;
  const ids = attemptIds(task.id, attempt, traceParent);
  // When the request has no span, the attempts have a trace of their own.
  const before = attempt === 1 ? undefined : traceparentOf(attemptIds(task.id, attempt - 1, traceParent));
  const fields = { taskId: task.id, requestId: task.requestId, attempt, losses };
  const span = openSpan({
    name: 'task.attempt',
    kind: 'consumer',
    about: task.id,
    parent: traceParent,
    follows: before,
    ids,
    fields: { ...fields, model: task.model, action: task.action },
  });
  const agoMs = attempt === 1 ? (task.underway?.ageMs ?? 0) : queuedAt === undefined ? 0 : Date.now() - queuedAt;
  if (agoMs > 0) {
    const isParked = claimed.providerCallOpen && claimed.providerJobId !== null;
    recordWait({ name: isParked ? 'task.parked' : 'task.queued', parent: traceParent ?? task.id, agoMs, fields });
  }
  return span;
}

/** The end of a call that failed with this error. Free providers never charge. */
export function endOf(free: boolean, error: unknown, aborted: boolean): CallEnd {
  if (error instanceof StartNotCounted) return NOT_CALLED;
  if (aborted || !(error instanceof ProviderError)) return unknownEnd(free);
  const { code, charged, status, providerMessage } = error;
  return {
    outcome: 'failed',
    code,
    charged: free ? 'no' : charged,
    ...(status === undefined ? {} : { status }),
    ...(providerMessage === undefined ? {} : { providerMessage }),
  };
}

/** The task's ids for the log. */
export function identity({ task }: ClaimedTask): { taskId: string; requestId: string } {
  return { taskId: task.id, requestId: task.requestId };
}

/** The end of a call that returned an image: charged, unless the provider is free. `storingMs`: how long storing took, once it has. */
export function successOf(free: boolean, storingMs?: number): CallEnd {
  const stored = storingMs === undefined ? {} : { storingMs: Math.round(storingMs) };
  return { outcome: 'succeeded', charged: free ? 'no' : 'yes', ...stored };
}

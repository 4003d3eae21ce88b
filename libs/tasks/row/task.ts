import { type ErrorDetail, errorDetail, AppError } from '#contract/app-error.js';
import type { ImageOptionValues } from '#contract/image-options.js';
import type { ImageUsage } from '#contract/image-usage.js';
import type { AppliedLimit } from '#billing/label-limits.js';
import type { TaskCost } from '#billing/quote.js';
import type { ProviderCall } from './provider-call.js';
import type { TaskPhase, TaskStatus } from './task-status.js';

/** The caller's options, without the prompt; validated and with defaults filled in. */
export interface TaskOptions extends ImageOptionValues {
  /** As the caller wrote it: a ratio, `auto`, or `<w>x<h>`. */
  readonly size: string;
  readonly resolution: '1k' | '2k' | '4k' | null;
  /** Exact pixels to deliver; null = the provider chooses. */
  readonly pixels: { readonly width: number; readonly height: number } | null;
  /** Images to make; absent: one. */
  readonly n?: number;
  /** Partial images to send while the caller waits, 1..3; absent when none are wanted. */
  readonly partialImages?: number;
  /** Fails what can't be made exactly as requested, instead of adapting or leaving out anything. Absent: false. */
  readonly strict?: boolean;
  /** Names of unknown request fields, truncated and sanitized; absent when there are none. */
  readonly ignored?: readonly string[];
  /** The guardrail has changed the prompt; absent: it is the caller's. */
  readonly promptChanged?: boolean;
  /** The only region in which it may be generated. */
  readonly region?: string;
  /** The only provider that may be called, even if drained, for an operator's test. API requests can't set this. */
  readonly onlyProvider?: string;
}

/** A reference image or mask: already in the store, or a URL that the worker fetches. */
export type TaskInput =
  | {
      readonly kind: 'object';
      readonly key: string;
      readonly bytes: number;
      readonly param: string;
      /** Width times height as the file declares them; absent when unknown. */
      readonly pixels?: number | undefined;
      /** Its format, if it must be converted for providers; a URL's format is not known yet. */
      readonly convert?: 'gif' | 'avif' | undefined;
      /** The task no longer needs it, and its object was deleted. */
      readonly deleted?: true;
      readonly markup?: true;
    }
  | { readonly kind: 'url'; readonly url: string; readonly param: string; readonly markup?: true };

/** What was ordered: everything a task's images are made from. */
export interface TaskOrder {
  readonly action: 'generation' | 'edit';
  readonly model: string;
  readonly prompt: string;
  readonly options: TaskOptions;
  readonly inputs: readonly TaskInput[];
  /** What lies over the first image: a mask of what to edit, or with `markup`, drawing that guides the edit. */
  readonly mask: TaskInput | null;
  readonly kept?: KeptFor | undefined;
  /** As of TaskCommand. */
  readonly endUser?: string | undefined;
  readonly tags?: readonly string[];
}

/** For how long a task is kept, where not retention alone decides: the longer of the two. */
export interface KeptFor {
  /** From its acceptance. */
  readonly seconds?: number | undefined;
  /** From its end. */
  readonly afterEndMs?: number | undefined;
}

/** What lies over the first image of an order. */
export function overlayOf({ mask }: Pick<TaskOrder, 'mask'>): { readonly mask: boolean; readonly markup: boolean } {
  const markup = mask?.markup === true;
  return { mask: mask !== null && !markup, markup };
}

/** A finished image: where it is stored and what was measured from its bytes. */
export interface TaskImage {
  readonly key: string;
  readonly contentType: string;
  readonly width: number;
  readonly height: number;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
  /** The size requested from the provider (`<w>x<h>` or `auto`), and the size that it sent, before fitting. */
  readonly sizes?: { readonly sent: string; readonly received: string };
  /** Whether the file says where the image comes from; absent when not checked. */
  readonly provenance?: 'kept' | 'marked' | 'none';
  /** What was adapted or ignored; stored in its own column. */
  readonly warnings?: readonly string[];
}

/** Why a task failed, as the synchronous endpoint would have answered. */
export interface TaskError extends ErrorDetail {
  readonly http_status: number;
}

/** Why a task needs an approval, and what was decided. Amounts are millionths of the currency of its cost. */
export interface TaskApproval {
  /** What a request may cost without an approval, when this one arrived. */
  readonly above: number;
  /** Milliseconds that it has from its approval to its end. */
  readonly deadlineMs: number;
  readonly decision?: 'approved' | 'rejected';
  /** ISO 8601. */
  readonly decidedAt?: string;
  /** Id of the person or API key that decided. */
  readonly decidedBy?: string;
  /** Of a rejection. */
  readonly reason?: string;
  /** When those who may approve it were told by email, in ISO 8601. */
  readonly toldAt?: string;
}

/** The command that becomes a task row. */
export interface TaskCommand {
  /** From newTaskId(): made before uploads are stored, because their keys contain it. */
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  /** The first of the keys that rotations replaced by this one, or itself: its limits and turns are that one's. */
  readonly originalKeyId: string;
  /** The account's turns in the queue, relative to other accounts. */
  readonly accountWeight: number;
  /** The key's share of these, relative to the account's other keys. */
  readonly weight: number;
  /** Tasks the key may have in flight, if that differs from the default; 0 = any number. */
  readonly maxInFlight?: number | undefined;
  /** The same for all keys of its account together. */
  readonly accountMaxInFlight?: number | undefined;
  readonly requestId: string;
  readonly action: 'generation' | 'edit';
  readonly model: string;
  readonly prompt: string;
  readonly options: TaskOptions;
  readonly inputs: readonly TaskInput[];
  readonly mask: TaskInput | null;
  readonly callbackUrl: string | null;
  readonly kept?: KeptFor | undefined;
  /** The request is answered with the task, so webhooks report its end; without this, a callback has no effect. */
  readonly asynchronous: boolean;
  /** What it costs; null when nothing is charged for it. */
  readonly cost: TaskCost | null;
  /** Whether its key or account has a budget; absent: unknown, so it may. */
  readonly budgeted?: boolean | undefined;
  /** What it may cost without an approval, in millionths; a cost that is not known is more. Undefined: any cost. */
  readonly approveAbove?: number | undefined;
  /** It needs an approval, so its row begins in the phase `held`. Set by SubmitTask. */
  readonly approval?: TaskApproval;
  /** Estimated milliseconds from acceptance to its end; undefined when unknown. */
  readonly estimatedMs?: number | undefined;
  /** Milliseconds from acceptance to its deadline, if less than the default. */
  readonly deadlineMs?: number;
  /** The W3C traceparent that its attempts and webhooks belong to. */
  readonly traceParent?: string | undefined;
  /** The failed task that it retries; each is retried at most once. */
  readonly retryOf?: string;
  /** The person who orders it in the console; absent: the holder of the key. */
  readonly orderedBy?: string | undefined;
  /** The batch whose line it is: it waits in the batch's turns, behind its key's other tasks; absent: none. */
  readonly batchId?: string | undefined;
  /** Identifier of the end user, as providers get it; absent: none. */
  readonly endUser?: string | undefined;
  /** Absent: none. */
  readonly tags?: readonly string[];
  /** What these are limited to; absent: nothing. */
  readonly labelLimits?: readonly AppliedLimit[];
  /** The tasks that its caller may see, of which a repeated Idempotency-Key gets one; absent: all of the account. */
  readonly own?: OwnTasks | undefined;
}

/** How far a pending task was when its row was read, by the database's clock. */
export interface PendingTask {
  /** Milliseconds since it was accepted. */
  readonly ageMs: number;
  /** Milliseconds since it was first started; null if it was not. */
  readonly runningMs: number | null;
  /** Part of its job's id. */
  readonly epoch: number;
}

/** Of a task that was deleted, or will be by itself: when. In milliseconds since 1970. */
export interface TaskLifetime {
  readonly deletedAt: number | null;
  readonly expiresAt: number | null;
}

/** Whom a task is for, as callers see it. */
export interface TaskLabels {
  readonly endUser: string | null;
  readonly tags: readonly string[] | null;
}

/** What polls and lists show of a task. Times are Dates by the database's clock. */
export interface TaskSummary {
  readonly id: string;
  readonly requestId: string;
  readonly action: 'generation' | 'edit';
  readonly model: string;
  readonly options: TaskOptions;
  readonly status: TaskStatus;
  readonly phase: TaskPhase;
  readonly progress: number;
  /** The provider whose last call has no known end: not yet, or never if the task was cancelled. */
  readonly openProvider: string | null;
  /** Whether it is unknown if some call was charged; true only of tasks that are running or were cancelled. */
  readonly mayBeCharged: boolean;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  /** Milliseconds from acceptance to its end, as estimated at acceptance. */
  readonly estimatedMs: number | null;
  /** Null once it has ended. */
  readonly underway: PendingTask | null;
  readonly error: TaskError | null;
  readonly images: readonly TaskImage[] | null;
  readonly usage: ImageUsage | null;
  /** Null when nothing is charged for it. */
  readonly cost: TaskCost | null;
  /** Null: only retention removes it. */
  readonly lifetime?: TaskLifetime | null;
  /** Null or absent: it has no end user and no tags. */
  readonly labels?: TaskLabels | null;
}

/** How a task has ended: the visible fields that change between its acceptance and its end. */
export type TaskOutcome = Pick<
  TaskSummary,
  'status' | 'progress' | 'finishedAt' | 'error' | 'images' | 'usage' | 'cost' | 'lifetime'
>;

/** Whether it was deleted: nothing of it is shown any more. */
export function isDeleted({ lifetime }: Pick<TaskSummary, 'lifetime'>): boolean {
  return typeof lifetime?.deletedAt === 'number';
}

/** The answer to everything that is asked of a deleted task. */
export function taskDeleted(taskId: string): AppError {
  return new AppError('task_deleted', 'The task was deleted.', { taskId });
}

/** Applies an outcome to a task, with no call left open. */
export function withOutcome<T extends TaskSummary>(task: T, outcome: TaskOutcome): T {
  return { ...task, ...outcome, phase: 'done', openProvider: null, mayBeCharged: false, underway: null };
}

/** Proof of holding a task: its id, and the number of the claim. */
export interface Lease {
  readonly id: string;
  readonly attempt: number;
}

/** A task row as its submitter and its worker see it. */
export interface Task extends TaskSummary {
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly startedAt: Date | null;
  readonly deadlineAt: Date;
  readonly warnings: readonly string[] | null;
}

/** What has happened to a task. Times are Dates by the database's clock. */
export interface TaskHistory {
  readonly status: TaskStatus;
  readonly createdAt: Date;
  /** When a worker first took it. */
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  /** Null: it needed none. */
  readonly approval: TaskApproval | null;
  /** In the order they began. */
  readonly calls: readonly ProviderCall[];
  /** Whether the last call is still running, if it has no end. */
  readonly callRuns: boolean;
}

/** The error of a failed task: what the sync endpoint would have answered. */
export function taskError(error: AppError): TaskError {
  return { ...errorDetail(error), http_status: error.status };
}

/** The tasks that a reader may see and cancel, whether they ask with an API key or in the console. */
export interface TaskScope {
  readonly accountId: string;
  /** Only these; undefined: all of the account. */
  readonly own: OwnTasks | undefined;
}

/** The tasks that a person ordered in the console, and all that were made with some keys. */
export interface OwnTasks {
  /** Null: no person's. */
  readonly personId: string | null;
  /** Keys that the person created, or one key with those that rotations replaced by it. */
  readonly keyIds: readonly string[];
}

/** All tasks of an account, for what acts on the whole account and not for one of its users or keys. */
export function allTasksOf(accountId: string): TaskScope {
  return { accountId, own: undefined };
}

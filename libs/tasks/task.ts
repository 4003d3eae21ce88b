import { type ErrorDetail, errorDetail, type AppError } from '#contract/app-error.js';
import type { ImageOptionValues } from '#contract/image-options.js';
import type { ImageUsage } from '#contract/image-usage.js';
import type { TaskCost } from '#billing/quote.js';
import type { ProviderCall } from './provider-call.js';
import type { TaskPhase, TaskStatus } from './task-status.js';

/** What the caller asked for besides the prompt, validated and with defaults filled in. */
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
  /** Nothing may be adapted or left out: what can't be made exactly as it was asked for fails. Absent: it may. */
  readonly strict?: boolean;
  /** Names of fields that mean nothing here, cut and cleaned; absent when there are none. */
  readonly ignored?: readonly string[];
  /** The one provider that may be called, drained or not: an operator tries it out. No request can ask for this. */
  readonly onlyProvider?: string;
}

/** A reference image or mask: already in the store, or an address that the worker fetches. */
export type TaskInput =
  | { readonly kind: 'object'; readonly key: string; readonly bytes: number; readonly param: string }
  | { readonly kind: 'url'; readonly url: string; readonly param: string };

/** What a task was made from. */
export interface TaskOrder {
  readonly action: 'generation' | 'edit';
  readonly model: string;
  readonly prompt: string;
  readonly options: TaskOptions;
  readonly inputs: readonly TaskInput[];
  readonly mask: TaskInput | null;
}

/** A finished image: where it lies and what was measured from its bytes. */
export interface TaskImage {
  readonly key: string;
  readonly contentType: string;
  readonly width: number;
  readonly height: number;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
  /** What the provider was asked for (`<w>x<h>` or `auto`) and what it sent, before it was fitted. */
  readonly sizes?: { readonly sent: string; readonly received: string };
  /** Whether the file says where the image comes from; absent where nobody looked. */
  readonly provenance?: 'kept' | 'marked' | 'none';
  /** What had to be adapted or ignored on the way; kept in a column of its own. */
  readonly warnings?: readonly string[];
}

/** Why a task failed, as the sync endpoint would have answered. */
export interface TaskError extends ErrorDetail {
  readonly http_status: number;
}

/** The command that becomes a task row. */
export interface TaskCommand {
  /** From newTaskId(): made before uploads are stored, because their keys carry it. */
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  /** The first of the keys that rotations replaced by this one, or itself: its limits and turns are that one's. */
  readonly originalKeyId: string;
  /** The account's turns in the queue, relative to other accounts. */
  readonly accountWeight: number;
  /** The key's share of these, relative to the account's other keys. */
  readonly weight: number;
  /** Tasks the key may have in flight, if that is not what every key may; 0 = any number. */
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
  /** The call is answered with the task, so that its end is told by webhooks; a callback has no effect without. */
  readonly asynchronous: boolean;
  /** What it costs, if anything is charged for it. */
  readonly cost: TaskCost | null;
  /** Whether its key or account has a budget, as far as is known; absent: it may. */
  readonly budgeted?: boolean | undefined;
  /** How long it is expected to take from acceptance to its end, in ms; undefined when nobody can say. */
  readonly estimatedMs?: number | undefined;
  /** Milliseconds it has from acceptance to its end, where that is less than every task has. */
  readonly deadlineMs?: number;
  /** The W3C traceparent that its attempts and webhooks belong to. */
  readonly traceParent?: string | undefined;
  /** The failed task whose order it repeats; there is one repetition of each at most. */
  readonly retryOf?: string;
  /** The person who orders it in the console; absent: whoever holds the key. */
  readonly orderedBy?: string | undefined;
}

/** Where a task is that has not ended, by the database's clock when its row was read. */
export interface PendingTask {
  /** Milliseconds since it was accepted. */
  readonly ageMs: number;
  /** Milliseconds since it was first started; null when it was not. */
  readonly runningMs: number | null;
  /** Names its job. */
  readonly epoch: number;
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
  /** Who was called without anyone having learned how that ended: yet, or ever when the task was cancelled. */
  readonly openProvider: string | null;
  /** Money may have been spent on a call without anybody knowing; told of tasks that run or were cancelled. */
  readonly mayBeCharged: boolean;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  /** What was estimated when it was accepted: milliseconds from then to its end. */
  readonly estimatedMs: number | null;
  /** Null once it has ended. */
  readonly underway: PendingTask | null;
  readonly error: TaskError | null;
  readonly images: readonly TaskImage[] | null;
  readonly usage: ImageUsage | null;
  /** Null when nothing is charged for it. */
  readonly cost: TaskCost | null;
}

/** How a task has ended: all that the row of one that was accepted has changed in since, as far as it is shown. */
export type TaskOutcome = Pick<
  TaskSummary,
  'status' | 'progress' | 'finishedAt' | 'error' | 'images' | 'usage' | 'cost'
>;

/** A task with its outcome, where no call is left open. */
export function withOutcome<T extends TaskSummary>(task: T, outcome: TaskOutcome): T {
  return { ...task, ...outcome, phase: 'done', openProvider: null, mayBeCharged: false, underway: null };
}

/** The holder's proof: which task, and which claim of it. */
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
  /** In the order they began. */
  readonly calls: readonly ProviderCall[];
  /** The last call, if it has no end, is still being made. */
  readonly callRuns: boolean;
}

/** The error of a failed task: what the sync endpoint would have answered. */
export function taskError(error: AppError): TaskError {
  return { ...errorDetail(error), http_status: error.status };
}

/** Whose tasks somebody may see. */
export interface TaskScope {
  readonly accountId: string;
  /** Only those of one person; absent: all of the account. */
  readonly own?: PersonTasks | undefined;
}

/** The tasks that a person ordered in the console, and all that were made with their keys. */
export interface PersonTasks {
  readonly personId: string;
  /** Keys that the person created. */
  readonly keyIds: readonly string[];
}

import type { TaskScope } from '#tasks/row/task.js';

/** What the lines of a batch may request. */
export const BATCH_ENDPOINTS = [
  '/v1/images/generations',
  '/v1/images/edits',
  '/v1/chat/completions',
  '/v1/responses',
] as const;
export type BatchEndpoint = (typeof BATCH_ENDPOINTS)[number];

/** Whether the lines are chats: passed on to a provider, and no tasks. */
export function hasChats({ endpoint }: { readonly endpoint: BatchEndpoint }): boolean {
  return endpoint === '/v1/chat/completions' || endpoint === '/v1/responses';
}

/** OpenAI's; a batch has ended with `failed`, `completed`, `expired` and `cancelled`. */
export const BATCH_STATUSES = [
  ...([
    'validating',
    'failed',
    'in_progress',
    'finalizing',
    'completed',
    'expired',
    'cancelling',
    'cancelled',
  ] as const),
];
type BatchStatus = (typeof BATCH_STATUSES)[number];

/** Most lines of a batch. */
export const MAX_LINES = 50_000;
/** How long a batch may take, in ms; an Idempotency-Key, which makes a line one task, is kept as long. */
export const WINDOW_MS = 86_400_000;
/** Batches of an account that have not ended. */
export const MAX_OPEN_BATCHES = 50;

/** Why a file was refused. */
export interface BatchProblem {
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  /** Null: it is no line's. */
  readonly line: number | null;
}

/** What a line has come to: the response that the same request would have got, or why there was none. */
export interface LineOutcome {
  readonly response: {
    readonly status_code: number;
    readonly request_id: string;
    /** As an object, or as JSON on one line: a chat's stays as its provider wrote it. */
    readonly body: object | string;
  } | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** Images of the response, in order, whose base64 is put in its place when the results are downloaded. */
  readonly images?: readonly PlacedImage[];
}

/** A stored image that a line returns as base64. */
export interface PlacedImage {
  readonly key: string;
  readonly bytes: number;
}

/** Whether an outcome belongs in the output file, and not in that of the errors. */
export function isSuccess({ response }: LineOutcome): boolean {
  return response?.status_code === 200;
}

/** A batch. Times are Dates by the database's clock. */
export interface Batch {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly endpoint: BatchEndpoint;
  readonly inputFileId: string;
  readonly outputFileId: string | null;
  readonly errorFileId: string | null;
  readonly status: BatchStatus;
  readonly total: number;
  readonly completed: number;
  readonly failed: number;
  /** What its ended lines cost, in millionths. */
  readonly spentMicros: bigint;
  /** The user who started it in the console; null: an API key did. */
  readonly orderedBy: string | null;
  readonly problems: readonly BatchProblem[] | null;
  readonly metadata: Readonly<Record<string, string>> | null;
  /** In seconds. */
  readonly resultsKept: number;
  readonly createdAt: Date;
  readonly inProgressAt: Date | null;
  readonly finalizingAt: Date | null;
  readonly cancellingAt: Date | null;
  /** When its time was over before it had ended. */
  readonly expiredAt: Date | null;
  readonly expiresAt: Date;
  /** When it reached its last status. */
  readonly endedAt: Date | null;
}

/** Where a request is in the input file, in bytes. */
export interface BatchLine {
  /** From 1. */
  readonly line: number;
  readonly customId: string;
  readonly position: number;
  readonly bytes: number;
}

/** A line that is about to become a task. */
export interface ClaimedLine extends BatchLine {
  /** Tasks of it that never started before their deadline. */
  readonly late: number;
}

/** A line whose task has not ended yet, as far as the batch knows. */
export interface SubmittedLine {
  readonly line: number;
  readonly taskId: string;
  readonly format: LineFormat;
}

/** How a line returns its images. */
export type LineFormat = 'url' | 'b64_json' | 'both';

/** What a line has come to, if its task, or having none yet, is still what its process knows. */
export interface LineEnd {
  readonly line: number;
  readonly taskId: string | null;
  readonly outcome: LineOutcome;
  /** What it cost, in millionths; absent: nothing, or an unknown amount. */
  readonly micros?: number;
}

/** A line that has ended. */
export interface EndedLine {
  readonly line: number;
  readonly customId: string;
  readonly outcome: LineOutcome;
}

/** The batches that a reader may see: those of its account, or only those of some keys, and those that a user started. */
export interface BatchScope extends Pick<TaskScope, 'accountId' | 'own'> {
  readonly personId?: string;
}

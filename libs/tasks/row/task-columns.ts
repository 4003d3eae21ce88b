import type { ImageUsage } from '#contract/image-usage.js';
import type { TaskCost } from '#billing/quote.js';
import { costView } from '#contract/cost-view.js';
import { BATCH_TURNS, BATCH_WEIGHT } from './batch-turns.js';
import type { RankedTask } from './ranked-tasks.js';
import { mayBeCharged, type ProviderCall } from './provider-call.js';
import type { TaskOwnership } from './task-scope.js';
import type {
  KeptFor,
  Task,
  TaskApproval,
  TaskError,
  TaskHistory,
  TaskImage,
  TaskInput,
  TaskLabels,
  TaskLifetime,
  TaskOptions,
  TaskOrder,
  TaskOutcome,
  TaskSummary,
  PendingTask,
} from './task.js';
import type { TaskPhase, TaskStatus } from './task-status.js';

/** Whole milliseconds since then; null without a time. A column's time may be rounded up to half a ms after now(). */
function msSince(column: string): string {
  return `CASE WHEN ${column} IS NOT NULL THEN GREATEST(0, round(EXTRACT(EPOCH FROM now() - ${column}) * 1000)) END`;
}

/** Milliseconds since 1970. */
function msOf(column: string): string {
  return `round(EXTRACT(EPOCH FROM ${column}) * 1000)::bigint`;
}

/**
 * The columns that a poll reads. Each costs as much as the rest of the poll's way through the driver, so the warnings,
 * which few tasks have, travel inside the image's JSON.
 */
export const SUMMARY_COLUMNS = `id, request_id, action, model, options, status, phase, progress, created_at,
  CASE WHEN provider_call_open OR status = 'cancelled' THEN calls END AS calls, finished_at, error, usage, cost,
  CASE WHEN warnings IS NULL THEN images ELSE jsonb_set(images, '{0,warnings}', warnings) END AS images,
  estimated_ms, CASE WHEN status = 'pending' THEN json_build_object('epoch', epoch,
    'ageMs', ${msSince('created_at')}, 'runningMs', ${msSince('started_at')}) END AS underway,
  CASE WHEN COALESCE(deleted_at, expires_at) IS NOT NULL THEN
    json_build_object('deletedAt', ${msOf('deleted_at')}, 'expiresAt', ${msOf('expires_at')}) END AS lifetime,
  CASE WHEN end_user IS NOT NULL OR tags IS NOT NULL THEN json_build_object('endUser', end_user, 'tags', tags) END AS labels`;

/** The first of the keys that rotations replaced by a task's: its place in flight and its turns are that one's. */
export const ORIGINAL_KEY = `COALESCE((SELECT original_key_id FROM api_keys WHERE api_keys.id = api_key_id), api_key_id)`;

/** The weight of a task's account in the fair queue; 1 for one that was deleted. */
export const ACCOUNT_WEIGHT = `COALESCE((SELECT weight FROM accounts WHERE accounts.id = account_id), 1)`;
/** Whose turns in its account a task takes, with which weight: its key's (1 for one that was deleted), or its batch's. */
export const TURN_KEY = `CASE WHEN batch_id IS NULL THEN ${ORIGINAL_KEY} ELSE '${BATCH_TURNS}' END`;
export const TURN_WEIGHT = `CASE WHEN batch_id IS NULL THEN COALESCE((SELECT weight FROM api_keys WHERE api_keys.id = api_key_id), 1)
  ELSE ${BATCH_WEIGHT} END::float8`;

/** The columns of a whole task, without the prompt and the inputs, which only the worker reads. */
export const TASK_COLUMNS = `${SUMMARY_COLUMNS}, account_id, api_key_id, started_at, deadline_at, warnings`;

/** Whether the account blocks a task's end user, if it has one; costs nothing else. */
const END_USER_BLOCKED = `(end_user IS NOT NULL AND EXISTS (SELECT 1 FROM end_user_states s
  WHERE s.account_id = tasks.account_id AND s.end_user = tasks.end_user AND s.state = 'blocked'))`;

/** What a worker needs to know of a task. */
export const CLAIMED_COLUMNS = `${TASK_COLUMNS}, epoch, ${ORIGINAL_KEY} AS original_key_id, ${ACCOUNT_WEIGHT} AS account_weight,
  ${TURN_KEY} AS turn_key, ${TURN_WEIGHT} AS turn_weight, prompt, inputs, mask, attempt, waits, losses, may_store_late, provider_starts, provider_job_id, provider_call_open,
  asynchronous, trace_parent, ${END_USER_BLOCKED} AS end_user_blocked, calls->-1 AS last_call,
  (EXTRACT(EPOCH FROM now() - (calls->-1->>'acceptedAt')::timestamptz) * 1000)::float8 AS waited_ms,
  (EXTRACT(EPOCH FROM deadline_at - now()) * 1000)::float8 AS remaining_ms`;

/** The part of a row that polls read, by column name. */
export interface SummaryRow {
  id: string;
  request_id: string;
  action: 'generation' | 'edit';
  model: string;
  options: TaskOptions;
  status: TaskStatus;
  phase: TaskPhase;
  progress: number;
  /** Null when no call is open and the task was not cancelled. */
  calls: ProviderCall[] | null;
  created_at: Date;
  finished_at: Date | null;
  error: TaskError | null;
  images: TaskImage[] | null;
  usage: ImageUsage | null;
  cost: TaskCost | null;
  estimated_ms: number | null;
  underway: PendingTask | null;
  /** Null for nearly all. */
  lifetime: TaskLifetime | null;
  /** Null without an end user and tags. */
  labels: TaskLabels | null;
}

/** The part of a row that a submitter's answer needs. */
export interface TaskRow extends SummaryRow {
  account_id: string;
  api_key_id: string;
  started_at: Date | null;
  deadline_at: Date;
  warnings: string[] | null;
}

/** What a poll reads, and what decides whether its reader may see it. */
export type OwnedRow = SummaryRow & TaskOwnership;

/** A whole task, and whether its row is marked as wanted by a caller. */
export interface FoundRow extends TaskRow {
  wanted: boolean;
}

/** A task that has just ended, with what identifies its job (`epoch`) and its slot (`api_key_id`). */
export interface EndedRow extends SummaryRow {
  attempt: number;
  epoch: number;
  original_key_id: string;
  waiter: string | null;
}

/** What a claim returns: everything a worker needs. */
export interface ClaimedRow extends TaskRow {
  epoch: number;
  original_key_id: string;
  account_weight: number;
  turn_key: string;
  turn_weight: number;
  prompt: string;
  inputs: TaskInput[];
  mask: unknown;
  attempt: number;
  losses: number;
  may_store_late: boolean;
  provider_starts: number;
  provider_job_id: string | null;
  provider_call_open: boolean;
  last_call: ProviderCall | null;
  waited_ms: number | null;
  waits: number;
  asynchronous: boolean;
  trace_parent: string | null;
  end_user_blocked: boolean;
  remaining_ms: number;
}

/** Converts a row to a TaskSummary, unchecked, because only this room writes rows. */
export function toSummary(row: SummaryRow): TaskSummary {
  return {
    id: row.id,
    requestId: row.request_id,
    action: row.action,
    model: row.model,
    options: row.options,
    status: row.status,
    phase: row.phase,
    progress: row.progress,
    openProvider: openProviderOf(row.calls),
    mayBeCharged: row.calls?.some(mayBeCharged) ?? false,
    createdAt: row.created_at,
    finishedAt: row.finished_at,
    error: row.error,
    images: row.images,
    usage: row.usage,
    cost: row.cost,
    estimatedMs: row.estimated_ms,
    underway: row.underway,
    lifetime: row.lifetime,
    labels: row.labels,
  };
}

function openProviderOf(calls: readonly ProviderCall[] | null): string | null {
  const last = calls?.at(-1);
  return last !== undefined && (last.endedAt === undefined || last.charged === 'maybe') ? last.provider : null;
}

/** Converts a row to a Task: everything that its submitter may see. */
export function toTask(row: TaskRow): Task {
  return {
    ...toSummary(row),
    accountId: row.account_id,
    apiKeyId: row.api_key_id,
    startedAt: row.started_at,
    deadlineAt: row.deadline_at,
    warnings: row.warnings,
  };
}

// JSON columns hold only what this room wrote, so their types are restored here, unchecked.

/** The outcome of a task that a worker completed: what its waiters do not know yet. */
export function toOutcome(row: EndedRow): TaskOutcome {
  const { status, progress, finishedAt, error, images, usage, cost, lifetime } = toSummary(row);
  return { status, progress, finishedAt, error, images, usage, cost, ...(lifetime && { lifetime }) };
}

/** The columns of a task's history, as Prisma reads them. */
interface HistoryRow extends Pick<TaskHistory, 'createdAt' | 'startedAt' | 'finishedAt'> {
  readonly status: string;
  readonly phase: string;
  readonly providerCallOpen: boolean;
  readonly calls: unknown;
  readonly approval: unknown;
}

/** A task's history for the console, and whether a provider is working on it now. */
export function toHistory({ phase, providerCallOpen, ...row }: HistoryRow): TaskHistory {
  const status = row.status as TaskStatus;
  const calls = row.calls as ProviderCall[];
  // Between two claims only a parked task has a phase other than queued: its provider keeps working.
  const approval = row.approval as TaskApproval | null;
  return { ...row, status, calls, approval, callRuns: status === 'pending' && phase !== 'queued' && providerCallOpen };
}

/** The columns that tasks are ranked by, as Prisma reads them. */
export const RANKED_COLUMNS = { id: true, status: true, createdAt: true, finishedAt: true, cost: true } as const;

interface RankedRow {
  readonly id: string;
  readonly status: string;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  readonly cost: unknown;
}

/** A task's duration and cost, as lists show them. */
export function toRanked({ id, status, createdAt, finishedAt, cost }: RankedRow): RankedTask {
  const { amount } = cost === null ? { amount: null } : costView(status, cost as TaskCost);
  return {
    id,
    durationMs: finishedAt === null ? null : finishedAt.getTime() - createdAt.getTime(),
    cost: amount === null ? null : Number(amount),
  };
}

/** The columns of an order, as Prisma reads them. */
export const ORDER_COLUMNS = {
  action: true,
  model: true,
  prompt: true,
  options: true,
  inputs: true,
  mask: true,
  createdAt: true,
  finishedAt: true,
  expiresAt: true,
  keptAfterEndMs: true,
  endUser: true,
  tags: true,
} as const;

interface OrderRow extends Pick<TaskOrder, 'model' | 'prompt'> {
  readonly action: string;
  readonly options: unknown;
  readonly inputs: unknown;
  readonly mask: unknown;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  readonly expiresAt: Date | null;
  readonly keptAfterEndMs: number | null;
  readonly endUser: string | null;
  readonly tags: readonly string[];
}

/** Converts a row to the order that a retry repeats. */
export function toOrder({ action, model, prompt, endUser, tags, ...row }: OrderRow): TaskOrder {
  const { inputs, mask } = toInputs(row);
  const options = toOptions(row.options);
  const order = { action: action as TaskOrder['action'], model, prompt, options, inputs, mask, kept: keptFor(row) };
  return { ...order, endUser: endUser ?? undefined, tags };
}

/** An `expiresAt` that its end has set says nothing about a lifetime. */
function keptFor({
  createdAt,
  finishedAt,
  expiresAt,
  keptAfterEndMs,
}: Pick<OrderRow, 'createdAt' | 'finishedAt' | 'expiresAt' | 'keptAfterEndMs'>): KeptFor {
  const kept = keptAfterEndMs === null ? {} : { afterEndMs: keptAfterEndMs };
  if (expiresAt === null) return kept;
  if (finishedAt !== null && expiresAt.getTime() - finishedAt.getTime() <= (keptAfterEndMs ?? 0)) return kept;
  return { ...kept, seconds: Math.round((expiresAt.getTime() - createdAt.getTime()) / 1_000) };
}

/** Restores the type of the options column, unchecked, because only this room writes it. */
export function toOptions(options: unknown): TaskOptions {
  return options as TaskOptions;
}

/** Restores the types of the inputs and mask columns, unchecked, because only this room writes them. */
export function toInputs({ inputs, mask }: { readonly inputs: unknown; readonly mask: unknown }) {
  return { inputs: inputs as readonly TaskInput[], mask: toOverlay(mask) };
}

/** Markup in the mask column: in a form that a worker of a version without markup can't take for a mask. */
interface StoredMarkup {
  readonly kind: 'markup';
  readonly of: TaskInput;
}

/** The mask or markup of an order, as the mask column has it. */
export function overlayColumn(mask: TaskInput): TaskInput | StoredMarkup {
  if (mask.markup !== true) return mask;
  const { markup: _, ...of } = mask;
  return { kind: 'markup', of };
}

/** The mask or markup in the mask column. */
export function toOverlay(column: unknown): TaskInput | null {
  const stored = column as TaskInput | StoredMarkup | null;
  return stored?.kind === 'markup' ? { ...stored.of, markup: true } : stored;
}

/** The object keys of a task's reference images and mask, without those that were deleted. */
export function sentKeys(row: Parameters<typeof toInputs>[0]): string[] {
  const { inputs, mask } = toInputs(row);
  return [...inputs, ...(mask === null ? [] : [mask])].flatMap((input) =>
    input.kind === 'object' && input.deleted !== true ? [input.key] : [],
  );
}

/** The images of a completed task, none for any other. */
export function toImages(images: unknown): readonly TaskImage[] {
  return (images as TaskImage[] | null) ?? [];
}

/** Null where there is no error. */
export function toError(error: unknown): TaskError | null {
  return error as TaskError | null;
}

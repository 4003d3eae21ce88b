import type { ImageUsage } from '#contract/image-usage.js';
import type { Task, TaskError, TaskImage, TaskInput, TaskOptions } from './task.js';
import type { TaskPhase, TaskStatus } from './task-status.js';

/** The columns every reader of a task gets; the prompt and the inputs stay with the worker. */
export const TASK_COLUMNS = `id, account_id, api_key_id, request_id, action, model, options, status, phase, progress, provider, provider_call_open,
  created_at, started_at, finished_at, deadline_at, error, images, usage, warnings`;

export interface TaskRow {
  id: string;
  account_id: string;
  api_key_id: string;
  request_id: string;
  action: 'generation' | 'edit';
  model: string;
  options: TaskOptions;
  status: TaskStatus;
  phase: TaskPhase;
  progress: number;
  provider: string | null;
  provider_call_open: boolean;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  deadline_at: Date;
  error: TaskError | null;
  images: TaskImage[] | null;
  usage: ImageUsage | null;
  warnings: string[] | null;
}

/** What a claim returns on top: all a worker needs. */
export interface ClaimedRow extends TaskRow {
  prompt: string;
  inputs: TaskInput[];
  mask: TaskInput | null;
  attempt: number;
  losses: number;
  provider_starts: number;
  provider_job_id: string | null;
  remaining_ms: number;
}

export function toTask(row: TaskRow): Task {
  return {
    id: row.id,
    accountId: row.account_id,
    apiKeyId: row.api_key_id,
    requestId: row.request_id,
    action: row.action,
    model: row.model,
    options: row.options,
    status: row.status,
    phase: row.phase,
    progress: row.progress,
    provider: row.provider,
    createdAt: row.created_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    deadlineAt: row.deadline_at,
    error: row.error,
    images: row.images,
    usage: row.usage,
    warnings: row.warnings,
    providerCallOpen: row.provider_call_open,
  };
}

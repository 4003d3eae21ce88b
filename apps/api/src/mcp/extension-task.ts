import {
  type ClientCapabilities,
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  type CallToolResult,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { TaskSummary } from '#tasks/row/task.js';
import { isFinal } from '#tasks/row/task-status.js';

/** The extension that lets a tool answer with a task, in its version of 2026-07-28. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** Recommended time between two polls, in ms. */
const POLL_INTERVAL_MS = 2_000;

/** A task of the extension, without what its state adds. */
interface ExtensionTask {
  readonly taskId: string;
  readonly statusMessage: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Milliseconds from its creation until it may be forgotten. */
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
}

/**
 * The state of a task, and what it adds. A failed task is completed here, with the error as its result: `failed` is for
 * errors of the protocol.
 */
export type ExtensionState =
  | { readonly status: 'working' }
  | { readonly status: 'completed'; readonly result: CallToolResult & { readonly resultType: 'complete' } }
  | { readonly status: 'cancelled' };

/** Whether the client of this request takes a task instead of a result. */
export function declaresTasks({ mcpReq }: ServerContext): boolean {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
  return capabilities?.extensions?.[TASKS_EXTENSION] !== undefined;
}

/** The answer to a call whose task has been accepted. `expiresAt`: until when its images are kept, in Unix seconds. */
export function createdTask(task: TaskSummary, expiresAt: number): CallToolResult {
  const created = { resultType: 'task', ...extensionTask(task, expiresAt), status: 'working' };
  // The SDK knows no results of extensions; it passes them on as they are.
  return created as unknown as CallToolResult;
}

/** What all states have. `expiresAt`: as above. */
export function extensionTask(task: TaskSummary, expiresAt: number): ExtensionTask {
  const { id, createdAt, finishedAt } = task;
  return {
    taskId: id,
    statusMessage: messageOf(task),
    createdAt: createdAt.toISOString(),
    lastUpdatedAt: (finishedAt ?? new Date()).toISOString(),
    ttlMs: Math.max(0, expiresAt * 1_000 - createdAt.getTime()),
    pollIntervalMs: POLL_INTERVAL_MS,
  };
}

/**
 * A task that waits for an approval is working as others are: `input_required` would ask its own client, which may not
 * approve what it ordered.
 */
function messageOf({ phase, progress, status }: TaskSummary): string {
  if (isFinal(status)) return status;
  return phase === 'held' ? 'waiting for the approval of an owner or admin' : `${phase}, ${progress} %`;
}

/** Throws the protocol's error for a client that does not know tasks. */
export function assertDeclared(context: ServerContext): void {
  if (declaresTasks(context)) return;
  throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } });
}

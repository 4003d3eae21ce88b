import { Injectable } from '@nestjs/common';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { AppError } from '#contract/app-error.js';
import { isFinal } from '#tasks/row/task-status.js';
import type { TaskSummary } from '#tasks/row/task.js';
import { assertScope } from '../auth/caller.js';
import { ApiConfig } from '../common/api.config.js';
import { DeliveryMarks } from '../images/delivery-marks.js';
import { RequestLimits } from '../limits/limit-requests.js';
import { CancelOwnTask } from '../tasks/cancel-own-task.js';
import { FollowTask } from '../tasks/follow-task.js';
import { FindTask } from './find-task.js';
import type { Arguments, McpCall } from './mcp-call.js';
import type { OnProgress } from './progress.js';
import { MAX_WAIT_SECONDS } from './tools.js';
import { ToolResults } from './tool-results.js';

/** The tools that read and cancel tasks by their ids. */
@Injectable()
export class TaskTools {
  constructor(
    private readonly tasks: FindTask,
    private readonly follow: FollowTask,
    private readonly cancelTask: CancelOwnTask,
    private readonly limits: RequestLimits,
    private readonly marks: DeliveryMarks,
    private readonly results: ToolResults,
    private readonly config: ApiConfig,
  ) {}

  /** Throws AppError. */
  async get(call: McpCall, args: Arguments, onProgress: OnProgress): Promise<CallToolResult> {
    const waitMs = this.waitOf(args['wait_seconds']);
    const found = await this.find(call, args['id']);
    const task = await this.ended(found, waitMs, call, onProgress);
    return isFinal(task.status)
      ? await this.read(task, call, args['full'] === true)
      : this.results.pending(task, { attached: false, ignored: [] });
  }

  /** Throws AppError. */
  async cancel(call: McpCall, { id }: Arguments): Promise<CallToolResult> {
    const { caller, request, reply } = call;
    assertScope(caller, 'images');
    await this.limits.admit('polls', caller, reply);
    const task = await this.tasks.named(caller, id, (known) => this.cancelTask.cancel(caller, known));
    request.taskId = task.id;
    if (task.status === 'cancelled') this.marks.watchRead(reply, task.id);
    return this.results.cancelled(task);
  }

  /** A caller's task, read as a poll. Throws AppError. */
  async find({ caller, request, reply }: McpCall, id: unknown): Promise<TaskSummary> {
    assertScope(caller, 'tasks');
    await this.limits.admit('polls', caller, reply);
    const task = await this.tasks.named(caller, id);
    request.taskId = task.id;
    return task;
  }

  /** What a task that has ended came to. */
  async read(task: TaskSummary, call: McpCall, full: boolean): Promise<CallToolResult> {
    this.marks.watchRead(call.reply, task.id);
    return await this.results.ended(task, call, { attached: false, ignored: [], full });
  }

  private async ended(
    task: TaskSummary,
    waitMs: number,
    { reply }: McpCall,
    onProgress: OnProgress,
  ): Promise<TaskSummary> {
    const until = performance.now() + waitMs;
    let seen = task;
    for (
      let left = waitMs;
      left > 0 && !isFinal(seen.status) && !reply.raw.destroyed;
      left = until - performance.now()
    ) {
      onProgress?.(seen);
      const next = await this.follow.changed(seen, left, reply);
      // Nothing has changed: the time is up, the process stops, or the task is gone.
      if (next.status === seen.status && next.phase === seen.phase) return next;
      seen = next;
    }
    return seen;
  }

  private waitOf(seconds: unknown = MAX_WAIT_SECONDS): number {
    if (typeof seconds !== 'number' || !(seconds >= 0 && seconds <= MAX_WAIT_SECONDS)) {
      const text = `wait_seconds must be a number from 0 to ${MAX_WAIT_SECONDS}`;
      throw new AppError('invalid_value', text, { param: 'wait_seconds' });
    }
    return Math.min(seconds * 1_000, this.config.syncWaitMs);
  }
}

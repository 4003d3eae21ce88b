import { Injectable } from '@nestjs/common';
import { fromJsonSchema, ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import { TaskLinks } from '#answers/task-links.js';
import type { TaskSummary } from '#tasks/row/task.js';
import { isFinal } from '#tasks/row/task-status.js';
import { assertDeclared, extensionTask, type ExtensionState } from './extension-task.js';
import type { McpCall } from './mcp-call.js';
import { TaskTools } from './task-tools.js';
import { ToolResults } from './tool-results.js';

const NAMED = fromJsonSchema<{ taskId: string }>({
  type: 'object',
  properties: { taskId: { type: 'string' } },
  required: ['taskId'],
});
const UPDATED = fromJsonSchema<{ taskId: string; inputResponses?: object }>({
  type: 'object',
  properties: { taskId: { type: 'string' }, inputResponses: { type: 'object' } },
  required: ['taskId'],
});

/** The methods of the extension. Every instance answers them from the row. */
@Injectable()
export class TaskExtension {
  constructor(
    private readonly tasks: TaskTools,
    private readonly results: ToolResults,
    private readonly links: TaskLinks,
  ) {}

  /** Must run before the server is connected. */
  attach(server: Server, call: McpCall): void {
    server.setRequestHandler('tasks/get', { params: NAMED }, async ({ taskId }, context) => {
      assertDeclared(context);
      return await this.within(call, async () => {
        const task = await this.tasks.find(call, taskId);
        return { ...extensionTask(task, this.links.expiryOf(task)), ...(await this.stateOf(task, call)) };
      });
    });
    server.setRequestHandler('tasks/cancel', { params: NAMED }, async ({ taskId }, context) => {
      assertDeclared(context);
      await this.within(call, () => this.tasks.cancel(call, { id: taskId }));
      return {};
    });
    // No task asks its client for anything, so there is no answer that one waits for.
    server.setRequestHandler('tasks/update', { params: UPDATED }, async ({ taskId }, context) => {
      assertDeclared(context);
      await this.within(call, () => this.tasks.find(call, taskId));
      return {};
    });
  }

  private async stateOf(task: TaskSummary, call: McpCall): Promise<ExtensionState> {
    if (!isFinal(task.status)) return { status: 'working' };
    const result = await this.tasks.read(task, call, false);
    if (task.status === 'cancelled') return { status: 'cancelled' };
    return { status: 'completed', result: { ...result, resultType: 'complete' } };
  }

  /** Turns errors into those of the protocol. */
  private async within<T>(call: McpCall, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (thrown) {
      const error = this.results.errorOf(thrown, call);
      const code = error.status === 404 || error.status === 400 ? 'InvalidParams' : 'InternalError';
      const { retryAfter } = error;
      const data = { code: error.code, ...(retryAfter === undefined ? {} : { retry_after: retryAfter }) };
      throw new ProtocolError(ProtocolErrorCode[code], error.message, data);
    }
  }
}

import { Injectable } from '@nestjs/common';
import {
  createMcpHandler,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type CallToolResult,
  type McpHttpHandler,
} from '@modelcontextprotocol/server';
import { VERSION } from '#config/package.js';
import { Logger } from '#telemetry/logger.js';
import { CallerModels } from '../models/caller-models.js';
import { ImageTools } from './image-tools.js';
import { declaresTasks, TASKS_EXTENSION } from './extension-task.js';
import { authInfoOf, callOf, type Arguments, type McpCall } from './mcp-call.js';
import { progressOf, type OnProgress } from './progress.js';
import { TaskExtension } from './task-extension.js';
import { TaskTools } from './task-tools.js';
import { toolsFor, type ToolName } from './tools.js';
import { ToolResults } from './tool-results.js';

/** What every agent is told about the tools as a whole. */
const INSTRUCTIONS = [
  'Darkroom generates and edits images. Every image is paid work, so never repeat a call to get its result.',
  'generate_image and edit_image answer with the image, or after 40 seconds with the id of its task: then call get_image with that id until it has ended. An id stays valid, also after an error of your connection.',
  'If you lost the answer to a call and have no id, repeat the call with exactly the same arguments: it gets the same task. For another image of the same prompt, send a new idempotency_key.',
  'Ask for quote_image before expensive images. cancel_image stops one that is not wanted any more.',
  'Results have a link to the full image and a small preview. Save the image from its link before it expires; ask for full only if you cannot open links.',
].join('\n');

/** `asTask`: whether the client takes a task of the extension instead of a result. */
type Tool = (call: McpCall, args: Arguments, onProgress: OnProgress, asTask: boolean) => Promise<CallToolResult>;

/** Answers MCP messages, each with a server of its own: nothing is kept between two of them. */
@Injectable()
export class McpServers {
  private readonly handler: McpHttpHandler;
  private readonly tools: Readonly<Record<ToolName, Tool>>;

  constructor(
    images: ImageTools,
    tasks: TaskTools,
    private readonly extension: TaskExtension,
    private readonly models: CallerModels,
    private readonly results: ToolResults,
    private readonly logger: Logger,
  ) {
    this.tools = {
      generate_image: async (call, args, onProgress, asTask) => {
        const order = { action: 'generation', call, args } as const;
        return asTask ? await images.start(order) : await images.order(order, onProgress);
      },
      edit_image: async (call, args, onProgress, asTask) => {
        const order = { action: 'edit', call, args } as const;
        return asTask ? await images.start(order) : await images.order(order, onProgress);
      },
      get_image: (call, args, onProgress) => tasks.get(call, args, onProgress),
      cancel_image: (call, args) => tasks.cancel(call, args),
      quote_image: (call, args) => images.quote(call, args),
      list_models: ({ caller }) => Promise.resolve(results.models(this.models.of(caller))),
    };
    // There is nothing to subscribe to, so no stream stays open. Errors of messages may quote them, so they are not logged.
    this.handler = createMcpHandler(({ authInfo }) => this.serverFor(callOf(authInfo)), { maxSubscriptions: 0 });
  }

  /** `message`: the body of the request, parsed. */
  async answer(request: Request, message: unknown, call: McpCall): Promise<Response> {
    const answer = await this.handler.fetch(request, { parsedBody: message, authInfo: authInfoOf(call) });
    if (answer.status >= 500) this.logger.error('mcp.failed', { requestId: call.request.id, status: answer.status });
    return answer;
  }

  private serverFor(call: McpCall): Server {
    const server = new Server(
      { name: 'darkroom', title: 'Darkroom', version: VERSION },
      { capabilities: { tools: {}, extensions: { [TASKS_EXTENSION]: {} } }, instructions: INSTRUCTIONS },
    );
    server.setRequestHandler('tools/list', () => ({ tools: toolsFor(this.models.of(call.caller)) }));
    server.setRequestHandler('tools/call', async ({ params }, context) => {
      const tool = Object.hasOwn(this.tools, params.name) ? this.tools[params.name as ToolName] : undefined;
      if (tool === undefined) {
        const names = Object.keys(this.tools).join(', ');
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool. Tools: ${names}`);
      }
      const answered = tool(call, params.arguments ?? {}, progressOf(context), declaresTasks(context));
      return await answered.catch((error: unknown) => this.results.failed(error, call));
    });
    this.extension.attach(server, call);
    return server;
  }
}

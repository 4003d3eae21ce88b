import { Injectable } from '@nestjs/common';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { TaskLinks } from '#answers/task-links.js';
import type { TaskCommand, TaskSummary } from '#tasks/row/task.js';
import { assertScope } from '../auth/caller.js';
import { ApiConfig } from '../common/api.config.js';
import { goneSignal } from '../common/gone-signal.js';
import { OpenCalls } from '../common/open-calls.js';
import { AcceptImage, type Accepted } from '../images/accept-image.js';
import { nameTask } from '../images/answer-image.js';
import { AwaitImage } from '../images/await-image.js';
import { DeliveryMarks } from '../images/delivery-marks.js';
import { QuoteImage } from '../images/quote-image.js';
import { RequestLimits } from '../limits/limit-requests.js';
import { TaskWatchers } from '../tasks/task-watchers.js';
import { AskedByAgent } from './asked-by-agent.js';
import { createdTask } from './extension-task.js';
import type { Arguments, McpCall } from './mcp-call.js';
import type { OnProgress } from './progress.js';
import { MAX_WAIT_SECONDS } from './tools.js';
import { ToolResults } from './tool-results.js';

/** A call that orders images. */
interface OrderCall {
  readonly action: TaskCommand['action'];
  readonly call: McpCall;
  readonly args: Arguments;
}

/** The tools that order images, and the one that quotes them. */
@Injectable()
export class ImageTools {
  constructor(
    private readonly asked: AskedByAgent,
    private readonly accept: AcceptImage,
    private readonly quotes: QuoteImage,
    private readonly limits: RequestLimits,
    private readonly awaitImage: AwaitImage,
    private readonly watchers: TaskWatchers,
    private readonly marks: DeliveryMarks,
    private readonly openCalls: OpenCalls,
    private readonly results: ToolResults,
    private readonly links: TaskLinks,
    private readonly config: ApiConfig,
  ) {}

  /** Orders an image and waits for it. The task continues when its caller leaves. Throws AppError. */
  async order(order: OrderCall, onProgress: OnProgress): Promise<CallToolResult> {
    const { call, args } = order;
    const accepted = await this.accepted(order);
    const { task, attached, ignored } = accepted;
    // Its approval may take hours.
    const ended = task.phase === 'held' ? undefined : await this.settled(accepted, call, onProgress);
    if (ended === undefined) return this.results.pending(task, { attached, ignored });
    this.marks.watch(call.reply, accepted);
    return await this.results.ended(ended, call, { attached, ignored, full: args['full'] === true });
  }

  /** Orders an image for a client that knows tasks. Throws AppError. */
  async start(order: OrderCall): Promise<CallToolResult> {
    const { task } = await this.accepted(order);
    return createdTask(task, this.links.expiryOf(task));
  }

  /** Throws AppError. */
  async quote(call: McpCall, args: Arguments): Promise<CallToolResult> {
    const { caller, reply } = call;
    assertScope(caller, 'images');
    await this.limits.admit('submits', caller, reply);
    const ask = () => this.asked.asked(args['images'] === undefined ? 'generation' : 'edit', call, args);
    const { quote, ignored } = await this.quotes.quoted(ask, caller, goneSignal(reply));
    return this.results.quote(quote, ignored);
  }

  /** A new task, accepted like any image request, or the one that the call repeats. */
  private async accepted({ action, call, args }: OrderCall): Promise<Accepted> {
    const { caller, request, reply } = call;
    assertScope(caller, 'images');
    await this.limits.admit('submits', caller, reply);
    const ask = () => this.asked.asked(action, call, args);
    const accepted = await this.accept.accept(ask, caller, this.openCalls.of(reply));
    nameTask(request, reply, accepted);
    return accepted;
  }

  /** Undefined while it is not ready: an equal call then gets the same task, like one whose caller has left. */
  private async settled(
    accepted: Accepted,
    { reply }: McpCall,
    onProgress: OnProgress,
  ): Promise<TaskSummary | undefined> {
    const longest = Math.min(MAX_WAIT_SECONDS * 1_000, this.config.syncWaitMs);
    const waitMs = Math.max(0, longest - reply.elapsedTime);
    onProgress?.(accepted.task);
    const stop = onProgress && this.watchers.watch(accepted.task.id, onProgress);
    try {
      return await this.awaitImage.settled(accepted, reply, waitMs);
    } finally {
      stop?.();
    }
  }
}

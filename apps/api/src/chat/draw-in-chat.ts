import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import {
  chatChunk,
  chatCompletion,
  STREAM_END,
  usageChunk,
  type ChatHead,
  type ChatUsage,
} from '#contract/chat-completion.js';
import type { Task } from '#tasks/task.js';
import { callerOf } from '../auth/api-key.guard.js';
import { assertScope } from '../auth/caller.js';
import type { ApiConfig } from '../http/api.config.js';
import { errorBody } from '../http/error-reply.js';
import { EventStream } from '../http/event-stream.js';
import { goneSignal } from '../http/gone-signal.js';
import type { AcceptImage, Accepted } from '../images/accept-image.js';
import { notYet } from '../images/answer-image.js';
import { failureOf, nameTask, stillRunning } from '../images/answer-parts.js';
import type { DeliveryMarks } from '../images/delivery-marks.js';
import type { HeldCalls } from '../images/held-calls.js';
import { patienceFor } from '../images/stream-image.js';
import type { RequestLimits } from '../limits/limit-requests.js';
import type { TaskLinks } from '#answers/task-links.js';
import type { ChatRequest } from './chat-request.js';
import { inChat, pictureRequest } from './picture-request.js';

interface PictureParts {
  readonly accept: AcceptImage;
  readonly calls: HeldCalls;
  readonly links: TaskLinks;
  readonly marks: DeliveryMarks;
}

/** Answers a chat with an image model: with the picture, as a link that chat clients show. */
export class DrawInChat {
  constructor(
    private readonly parts: PictureParts,
    private readonly limits: RequestLimits,
    private readonly config: ApiConfig,
  ) {}

  /** Counts and waits like an image request, and is found again like one. Throws AppError as those do. */
  async draw(request: FastifyRequest, reply: FastifyReply, chat: ChatRequest): Promise<void> {
    try {
      assertScope(callerOf(request), 'images');
      await this.limits.admit('submits', callerOf(request), reply);
      request.body = pictureRequest(chat);
      const accepted = await this.parts.accept.generation(request, false, goneSignal(reply));
      nameTask(request, reply, accepted);
      if (chat.streamed) await this.stream(request, reply, accepted, chat);
      else await this.answer(request, reply, accepted);
    } catch (error) {
      throw inChat(error);
    }
  }

  private async answer(request: FastifyRequest, reply: FastifyReply, accepted: Accepted): Promise<void> {
    const settled = await this.parts.calls.settled(accepted, reply, this.config.syncWaitMs);
    if (reply.raw.destroyed) return;
    void reply.header('openai-processing-ms', String(Math.round(reply.elapsedTime)));
    if (settled === undefined) throw notYet(request, reply, accepted.task);
    this.watch(request, reply, accepted);
    const content = this.pictureOf(settled);
    void reply.code(200).send(chatCompletion(headOf(settled), [{ content, finish: 'stop' }], usageOf(settled)));
  }

  /** A failure is an event, because the status is long sent; it is thrown too, for the log. */
  private async stream(
    request: FastifyRequest,
    reply: FastifyReply,
    accepted: Accepted,
    { wantsUsage }: ChatRequest,
  ): Promise<void> {
    const events = new EventStream(this.config.streamPingMs);
    const head = headOf(accepted.task);
    const say = (chunk: object): void => {
      events.data(JSON.stringify(chunk));
    };
    try {
      events.open(reply);
      say(chatChunk(head, 0, { role: 'assistant', content: '' }));
      const settled = await this.parts.calls.settled(accepted, reply, patienceFor(accepted.task));
      if (reply.raw.destroyed) return;
      if (settled === undefined) throw stillRunning(accepted.task.id);
      this.watch(request, reply, accepted);
      say(chatChunk(head, 0, { content: this.pictureOf(settled) }));
      say(chatChunk(head, 0, {}, 'stop'));
      const usage = usageOf(settled);
      if (wantsUsage && usage !== undefined) say(usageChunk(head, usage));
      events.data(STREAM_END);
    } catch (error) {
      const told = inChat(error);
      if (told instanceof AppError) events.data(JSON.stringify(errorBody(told, request.id)));
      throw error;
    } finally {
      events.end();
    }
  }

  /** Only who counts its tries can come back for an answer that did not arrive. */
  private watch(request: FastifyRequest, reply: FastifyReply, { mark, task }: Accepted): void {
    if (mark?.kind === 'attempt') this.parts.marks.watch(request, reply, task.id);
  }

  private pictureOf(task: Task): string {
    const image = task.images?.[0];
    if (task.status !== 'completed' || image === undefined) throw failureOf(task);
    return `![picture](${this.parts.links.linkTo(task, image).url ?? ''})`;
  }
}

function headOf({ id, createdAt, model }: Task): ChatHead {
  return { id: `chatcmpl-${id}`, created: Math.floor(createdAt.getTime() / 1000), model, fingerprint: 'darkroom' };
}

function usageOf({ usage }: Task): ChatUsage | undefined {
  return usage
    ? {
        prompt_tokens: usage.input_tokens,
        completion_tokens: usage.output_tokens,
        total_tokens: usage.total_tokens,
      }
    : undefined;
}

import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TaskLinks } from '#answers/task-links.js';
import { AppError } from '#contract/app-error.js';
import {
  chatChunk,
  chatCompletion,
  STREAM_END,
  usageChunk,
  type ChatHead,
  type ChatImage,
  type ChatUsage,
} from '#contract/chat-completion.js';
import type { TaskSummary } from '#tasks/row/task.js';
import { ApiConfig } from '../common/api.config.js';
import { errorBody } from '../common/error-reply.js';
import { EventStream } from '../common/events/event-stream.js';
import { TellCost } from '../common/tell-cost.js';
import type { Accepted } from '../images/accept-image.js';
import { assertApproved, failureOf, stillRunning, stillRunningError } from '../images/answer-image.js';
import { AwaitImage } from '../images/await-image.js';
import { DeliveryMarks } from '../images/delivery-marks.js';
import { maxWaitFor } from '../images/stream-image.js';
import { inChat } from './chat-image-request.js';

interface LinkedImage {
  readonly content: string;
  readonly images: readonly ChatImage[];
}

/** Responds to a chat with its task's image, as a link that chat clients display. */
@Injectable()
export class AnswerInChat {
  constructor(
    private readonly awaitImage: AwaitImage,
    private readonly links: TaskLinks,
    private readonly marks: DeliveryMarks,
    private readonly costs: TellCost,
    private readonly config: ApiConfig,
  ) {}

  /** Throws AppError, like an image request. */
  async answer(request: FastifyRequest, reply: FastifyReply, accepted: Accepted): Promise<void> {
    assertApproved(accepted.task);
    const settled = await this.awaitImage.settled(accepted, reply, this.config.syncWaitMs);
    if (reply.raw.destroyed) return;
    void reply.header('openai-processing-ms', String(Math.round(reply.elapsedTime)));
    if (settled === undefined) throw stillRunningError(request, reply, accepted.task);
    this.marks.watch(reply, accepted);
    const choice = { ...this.imageOf(settled), finish: 'stop' } as const;
    await this.costs.tell(settled, reply);
    void reply.code(200).send(chatCompletion(headOf(settled), [choice], usageOf(settled)));
  }

  /** A failure is sent as an event, because the status is already sent, and also thrown for the log. */
  async stream(request: FastifyRequest, reply: FastifyReply, accepted: Accepted, wantsUsage: boolean): Promise<void> {
    assertApproved(accepted.task);
    const events = new EventStream(this.config.streamPingMs);
    const head = headOf(accepted.task);
    const say = (chunk: object): void => events.data(JSON.stringify(chunk));
    try {
      events.open(reply);
      say(chatChunk(head, 0, { role: 'assistant', content: '' }));
      const settled = await this.awaitImage.settled(accepted, reply, maxWaitFor(accepted.task));
      if (reply.raw.destroyed) return;
      if (settled === undefined) throw stillRunning(accepted.task.id);
      this.marks.watch(reply, accepted);
      say(chatChunk(head, 0, this.imageOf(settled)));
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

  /** The same link twice: as text for text-only clients, and as a separate field for clients that look for images. */
  private imageOf(task: TaskSummary): LinkedImage {
    const image = task.images?.[0];
    if (task.status !== 'completed' || image === undefined) throw failureOf(task);
    const url = this.links.linkTo(task, image).url ?? '';
    return { content: `![image](${url})`, images: [{ type: 'image_url', image_url: { url }, index: 0 }] };
  }
}

function headOf({ id, createdAt, model }: TaskSummary): ChatHead {
  return { id: `chatcmpl-${id}`, created: Math.floor(createdAt.getTime() / 1000), model, fingerprint: 'darkroom' };
}

function usageOf({ usage }: TaskSummary): ChatUsage | undefined {
  return usage
    ? {
        prompt_tokens: usage.input_tokens,
        completion_tokens: usage.output_tokens,
        total_tokens: usage.total_tokens,
      }
    : undefined;
}

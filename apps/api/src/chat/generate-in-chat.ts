import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf } from '../auth/api-key.guard.js';
import { assertScope } from '../auth/caller.js';
import { OpenCalls } from '../common/open-calls.js';
import { AcceptImage } from '../images/accept-image.js';
import { nameTask } from '../images/answer-parts.js';
import { RequestLimits } from '../limits/limit-requests.js';
import { AnswerInChat } from './answer-in-chat.js';
import type { ChatRequest } from './chat-request.js';
import { inChat, imageRequest } from './chat-image-request.js';

/** Handles a chat with an image model as an image request. */
@Injectable()
export class GenerateInChat {
  constructor(
    private readonly accept: AcceptImage,
    private readonly limits: RequestLimits,
    private readonly answers: AnswerInChat,
    private readonly calls: OpenCalls,
  ) {}

  /** Counted, waited for and repeated like an image request. Throws the same AppErrors. */
  async draw(request: FastifyRequest, reply: FastifyReply, chat: ChatRequest): Promise<void> {
    assertScope(callerOf(request), 'images');
    await this.limits.admit('submits', callerOf(request), reply);
    request.body = imageRequest(chat);
    try {
      const accepted = await this.accept.generation(request, false, this.calls.of(reply));
      nameTask(request, reply, accepted);
      if (chat.streamed) await this.answers.stream(request, reply, accepted, chat);
      else await this.answers.answer(request, reply, accepted);
    } catch (error) {
      throw inChat(error);
    }
  }
}

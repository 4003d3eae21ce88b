import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SentNames } from '#contract/other-names.js';
import { callerOf, assertScope } from '../auth/caller.js';
import { OpenCalls } from '../common/open-calls.js';
import { AcceptImage } from '../images/accept-image.js';
import { nameTask } from '../images/answer-image.js';
import type { Ask } from '../images/asked.js';
import { ReadRequest } from '../images/read-request.js';
import { RequestLimits } from '../limits/limit-requests.js';
import { AnswerInChat } from './answer-in-chat.js';
import type { ChatRequest } from './chat-request.js';
import { inChat, imageRequest } from './chat-image-request.js';

/** Handles a chat with an image model as an image request. */
@Injectable()
export class GenerateInChat {
  constructor(
    private readonly read: ReadRequest,
    private readonly accept: AcceptImage,
    private readonly limits: RequestLimits,
    private readonly answers: AnswerInChat,
    private readonly openCalls: OpenCalls,
  ) {}

  /** Counted, waited for and repeated like an image request. Throws the same AppErrors. */
  async draw(request: FastifyRequest, reply: FastifyReply, chat: ChatRequest): Promise<void> {
    const caller = callerOf(request);
    assertScope(caller, 'images');
    await this.limits.admit('submits', caller, reply);
    const { body, sentAs } = imageRequest(chat);
    const bodyOf = once(body);
    const ask: Ask = () => this.read.generation(request, false, bodyOf());
    // Without `await`, nothing holds the bytes of the chat while its caller waits for the image.
    return this.answer(request, reply, ask, { streamed: chat.streamed, wantsUsage: chat.wantsUsage, sentAs });
  }

  private async answer(
    request: FastifyRequest,
    reply: FastifyReply,
    ask: Ask,
    { streamed, wantsUsage, sentAs }: Pick<ChatRequest, 'streamed' | 'wantsUsage'> & { readonly sentAs: SentNames },
  ): Promise<void> {
    try {
      const accepted = await this.accept.accept(ask, callerOf(request), this.openCalls.of(reply));
      nameTask(request, reply, accepted);
      if (streamed) await this.answers.stream(request, reply, accepted, wantsUsage);
      else await this.answers.answer(request, reply, accepted);
    } catch (error) {
      throw inChat(error, sentAs);
    }
  }
}

/** Returns the value, and does not hold it afterwards. */
function once(value: unknown): () => unknown {
  let held = value;
  return () => {
    const given = held;
    held = undefined;
    return given;
  };
}

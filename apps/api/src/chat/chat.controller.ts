import { Controller, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { endedText } from '#catalog/ending-models.js';
import { findModel } from '#catalog/catalog.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { chatPrices } from '#billing/quote.js';
import { AppError } from '#contract/app-error.js';
import { LinkSigner } from '#storage/signed-link.js';
import { Caller } from '../auth/caller.decorator.js';
import { mayUseModel } from '../auth/caller.js';
import { BodyMemory, BodyReservation } from '../common/fastify/body-memory.js';
import { sourceOf } from '../common/source-of.js';
import { assertChatQuery } from '../images/image-query.js';
import { assertCovered } from './refuse-options.js';
import { ChatBudget } from './chat-budget.js';
import { readChatRequest } from './chat-request.js';
import { DescribeChat } from './chat.openapi.js';
import { GenerateInChat } from './generate-in-chat.js';
import { OpenChats } from './open-chats.js';
import { PassChat } from './pass-chat.js';
import { assertNoUploadLinks } from './upload-links.js';

/**
 * POST /v1/chat/completions: passes chats on to a provider, and generates an image when the model is an image model.
 */
@ApiTags('Chat')
@Controller()
export class ChatController {
  constructor(
    private readonly catalogs: CatalogSource,
    private readonly chats: PassChat,
    private readonly images: GenerateInChat,
    private readonly budget: ChatBudget,
    private readonly memory: BodyMemory,
    private readonly signer: LinkSigner,
    private readonly open: OpenChats,
  ) {}

  /** A model that the key may not use gets the same response as a nonexistent one. */
  @Post('v1/chat/completions')
  @RouteConfig({ largeBody: true, rawBody: true, scope: 'chat', counted: 'chats' })
  @DescribeChat()
  async complete(@Caller() caller: Caller, @Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    assertChatQuery(request);
    const chat = readChatRequest(request.body);
    const catalog = this.catalogs.current;
    const model = findModel(catalog, chat.model);
    if (model === undefined || !mayUseModel(caller, model)) {
      throw new AppError('unknown_model', 'The model does not exist, or this API key may not use it.', {
        param: 'model',
      });
    }
    const ended = endedText(catalog, model.kind, chat.model, new Date());
    if (ended !== undefined) throw new AppError('unknown_model', ended, { param: 'model' });
    if (model.kind === 'image') return this.images.draw(request, reply, chat);
    assertNoUploadLinks(chat.body, this.signer);
    const prices = chatPrices(catalog, model, new Date());
    if (prices) assertCovered(chat, prices);
    const source = sourceOf(request);
    const leave = this.open.enter(source);
    try {
      await this.budget.admit(request.id, caller, chat, prices);
      const unused = (): void => this.budget.release(request.id, caller);
      const memory = new BodyReservation(this.memory, source);
      const pass = () => this.chats.pass(request, reply, chat, { model, catalog, prices, unused, memory });
      // Keeps the body alive while a provider reads it, even if the caller disconnects.
      await (request.received?.during(pass) ?? pass());
    } finally {
      leave();
    }
  }
}

import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { chatPrices } from '#billing/quote.js';
import { findModel, type Catalog, type ModelEntry } from '#catalog/catalog.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { AppError } from '#contract/app-error.js';
import { LinkSigner } from '#storage/signed-link.js';
import { callerOf, mayUseModel } from '../auth/caller.js';
import { BodyMemory, BodyReservation } from '../common/fastify/body-memory.js';
import { sourceOf } from '../common/source-of.js';
import { ChatBudget } from './chat-budget.js';
import type { ChatRequest } from './chat-request.js';
import { OpenChats } from './open-chats.js';
import { PassChat } from './pass-chat.js';
import { assertCovered } from './refuse-options.js';
import { assertNoUploadLinks } from './upload-links.js';

/** The model that a chat names, and the catalog it is from. */
export interface NamedModel {
  readonly model: ModelEntry;
  readonly catalog: Catalog;
}

/** Admits chats with chat models, in whatever API they are: what they may ask for, how many, and their budget. */
@Injectable()
export class AdmitChat {
  constructor(
    private readonly catalogs: CatalogSource,
    private readonly chats: PassChat,
    private readonly budget: ChatBudget,
    private readonly memory: BodyMemory,
    private readonly signer: LinkSigner,
    private readonly open: OpenChats,
  ) {}

  /** A model that the key may not use gets the same error as a nonexistent one: AppError `unknown_model`. */
  modelOf(request: FastifyRequest, chat: ChatRequest): NamedModel {
    const catalog = this.catalogs.current;
    const model = findModel(catalog, chat.model);
    if (model === undefined || !mayUseModel(callerOf(request), model)) {
      throw new AppError('unknown_model', 'The model does not exist, or this API key may not use it.', {
        param: 'model',
      });
    }
    return { model, catalog };
  }

  /** Passes the chat to a provider, and its response to the caller. Throws AppError while nothing was sent. */
  async pass(request: FastifyRequest, reply: FastifyReply, chat: ChatRequest, named: NamedModel): Promise<void> {
    const { model, catalog } = named;
    const caller = callerOf(request);
    assertNoUploadLinks(chat.body, chat.api.input, this.signer);
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

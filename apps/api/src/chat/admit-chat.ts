import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { chatPrices } from '#billing/quote.js';
import { findModel, type Catalog, type ModelEntry } from '#catalog/catalog.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { endedText } from '#catalog/ending-models.js';
import { AppError } from '#contract/app-error.js';
import { REGION_HEADER } from '#contract/region.js';
import { overloaded } from '#contract/unavailable.js';
import { assertServedIn, regionsAt } from '#routing/route-plan.js';
import { StoredResponses, type StoredResponse } from '#routing/stored-responses.js';
import { LinkSigner } from '#storage/signed-link.js';
import { callerOf, mayUseModel } from '../auth/caller.js';
import { BodyMemory, BodyReservation } from '../common/fastify/body-memory.js';
import { sourceOf } from '../common/source-of.js';
import { LabelRequests } from '../labels/request-labels.js';
import { ChatBudget } from './chat-budget.js';
import { chatLabels } from './chat-labels.js';
import { CheckChat } from './check-chat.js';
import { holdingServer, type HoldingServer } from './chat-plan.js';
import type { ChatRequest } from './chat-request.js';
import { OpenChats } from './open-chats.js';
import { PassChat, type StoredResponseCall } from './pass-chat.js';
import { RESPONSE_ID } from './response-id.js';
import { assertCovered, assertNoImages } from './refuse-options.js';
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
    private readonly responses: StoredResponses,
    private readonly labels: LabelRequests,
    private readonly check: CheckChat,
  ) {}

  /**
   * Throws AppError `unknown_model` for a model that has ended, and with the same text for one that the key may not use
   * as for a nonexistent one.
   */
  modelOf(request: FastifyRequest, chat: ChatRequest): NamedModel {
    const catalog = this.catalogs.current;
    const model = findModel(catalog, chat.model);
    const isHidden = model !== undefined && !mayUseModel(callerOf(request), model);
    const ended = isHidden ? undefined : endedText(catalog, chat.model, new Date());
    if (model !== undefined && !isHidden && ended === undefined) return { model, catalog };
    const text = ended ?? 'The model does not exist, or this API key may not use it.';
    throw new AppError('unknown_model', text, { param: 'model' });
  }

  /** Passes the chat to a provider, and its response to the caller. Throws AppError while nothing was sent. */
  async pass(request: FastifyRequest, reply: FastifyReply, sent: ChatRequest, named: NamedModel): Promise<void> {
    const { model, catalog } = named;
    const caller = callerOf(request);
    const labels = await this.labels.of(caller, chatLabels(sent, request.headers, caller.endUsers));
    const asked = { ...sent, ...labels };
    assertServedIn(model, catalog, caller.region);
    assertNoUploadLinks(asked.body, asked.api.input, this.signer);
    const prices = chatPrices(catalog, model, new Date());
    if (prices) assertCovered(asked, prices);
    if (caller.line !== undefined) assertNoImages(asked);
    const holder = await this.holderOf(request, asked, named);
    const chat = holder === undefined ? asked : { ...asked, earlierTokens: holder.tokens };
    const source = sourceOf(request);
    const leave = this.open.enter(source);
    try {
      const check = () => this.check.assertAllowed(request, reply, chat);
      await (request.received?.during(check) ?? check());
      await this.budget.admit(request.id, caller, chat, prices);
      const unused = (): void => this.budget.release(request.id, caller);
      const memory = new BodyReservation(this.memory, source);
      const pass = () => this.chats.pass(request, reply, chat, { model, catalog, prices, unused, memory, holder });
      // Keeps the body alive while a provider reads it, even if the caller disconnects.
      await (request.received?.during(pass) ?? pass());
    } finally {
      leave();
    }
  }

  /**
   * Passes a call about a response to the server that holds it, also outside a pinned region, because it generates
   * nothing. Throws AppError `response_not_found` when it is unknown, not the caller's, or its server is gone, and like
   * `pass`.
   */
  async passStored(request: FastifyRequest, reply: FastifyReply, id: string, call: StoredResponseCall): Promise<void> {
    const catalog = this.catalogs.current;
    const found = await this.stored(request, id);
    const holder = found && holdingServer(found, catalog);
    if (holder === undefined) {
      throw new AppError('response_not_found', `Response with id '${shown(id)}' not found.`);
    }
    const source = sourceOf(request);
    const leave = this.open.enter(source);
    try {
      const memory = new BodyReservation(this.memory, source);
      await this.chats.passStored(request, reply, call, { memory, holder });
    } finally {
      leave();
    }
  }

  /**
   * Which server holds the response that a chat continues. Throws AppError `previous_response_not_found`, and
   * `invalid_value` when only the pinned region rules that server out.
   */
  private async holderOf(
    request: FastifyRequest,
    { previousId }: ChatRequest,
    { model, catalog }: NamedModel,
  ): Promise<(HoldingServer & Pick<StoredResponse, 'tokens'>) | undefined> {
    if (previousId === undefined) return undefined;
    const found = await this.stored(request, previousId);
    const param = 'previous_response_id';
    if (found === undefined) {
      const text = `Previous response with id '${shown(previousId)}' not found.`;
      throw new AppError('previous_response_not_found', text, { param });
    }
    const holder = holdingServer(found, catalog);
    const regions = holder === undefined ? [] : regionsAt(model, holder.server);
    if (holder === undefined || regions.length === 0) {
      const text = `Previous response with id '${shown(previousId)}' not found: no provider of ${model.name} holds it.`;
      throw new AppError('previous_response_not_found', text, { param });
    }
    const { region } = callerOf(request);
    if (region !== undefined && !regions.includes(region)) {
      const text = `Previous response with id '${shown(previousId)}' is held outside the region ${region}.`;
      throw new AppError('invalid_value', text, { param: REGION_HEADER });
    }
    return { ...holder, tokens: found.tokens };
  }

  /** A response that the caller's key may read; undefined for any other. */
  private async stored(request: FastifyRequest, id: string): Promise<StoredResponse | undefined> {
    if (!RESPONSE_ID.test(id)) return undefined;
    const caller = callerOf(request);
    const found = await this.responses.find(caller, id).catch((error: unknown) => {
      throw overloaded(error);
    });
    const { models } = this.catalogs.current;
    const aliases = models.get(found?.model ?? '')?.aliases ?? [];
    return found !== undefined && mayUseModel(caller, { name: found.model, aliases }) ? found : undefined;
  }
}

/** An id may be of any length, or something else that was sent in its place. */
function shown(id: string): string {
  return id.slice(0, 40);
}

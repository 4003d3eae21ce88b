import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Catalog, ModelEntry } from '#catalog/catalog.js';
import type { ChatResponse } from '#providers/chat/chat-provider.js';
import { serverId } from '#providers/provider-entry.js';
import { Logger } from '#telemetry/logger.js';
import { turnTakerOf } from '#tasks/row/batch-turns.js';
import { callerOf, taskOwnerOf, type Caller, type TaskOwner } from '../auth/caller.js';
import { Draining } from '../common/draining.js';
import type { BodyReservation } from '../common/fastify/body-memory.js';
import { RESPONSES } from './chat-api.js';
import { CallUpstreams, type ChatToSend, type Outcome, type PassedOn, type UpstreamCall } from './call-upstreams.js';
import { attemptsAt, type Attempt, type HoldingServer } from './chat-plan.js';
import { estimatedInput } from './chat-estimate.js';
import { bodyFor, valueFor, type ChatRequest } from './chat-request.js';
import { ChatUsageLog } from './chat-usage-log.js';
import { usageRow, type ChatPrices } from './chat-usage-row.js';
import { relayAnswer, type Relaying } from './relay-answer.js';
import { ResponseLog } from './response-log.js';
import { mayAskAnother, sendRefusal } from './upstream-refusal.js';
import { WatchChat } from './watch-chat.js';

/** The model that serves a chat, and its prices. */
interface ChatService {
  readonly model: ModelEntry;
  readonly catalog: Catalog;
  readonly prices: ChatPrices;
  /** Called when no provider was called, so nothing was used. */
  readonly unused: () => void;
  /** Counts what is held of the response. */
  readonly memory: BodyReservation;
  /** The server that holds the response which the chat continues. */
  readonly holder: HoldingServer | undefined;
}

/** A call about a response that a provider stores. */
export interface StoredResponseCall {
  readonly method: UpstreamCall['method'];
  /** Below `/responses`, with its query. */
  readonly path: string;
  readonly streamed: boolean;
}

/** A chat in progress. */
interface ActiveChat extends ChatService, ChatToSend {
  readonly chat: ChatRequest;
  readonly caller: TaskOwner;
}

/**
 * How many bytes of a priced chat are read after its caller disconnects: more than the longest answer of any model. A
 * larger request is not kept in memory for that.
 */
const AFTER_HANGUP_BYTES = 8_388_608;
const MAX_KEPT_BYTES = 262_144;
/** The largest number of a column. */
const MAX_TOKENS = 2_147_483_647;

/** Passes a chat to a provider, and its response back to the caller. */
@Injectable()
export class PassChat {
  constructor(
    private readonly watch: WatchChat,
    private readonly upstreams: CallUpstreams,
    private readonly usage: ChatUsageLog,
    private readonly responses: ResponseLog,
    private readonly draining: Draining,
    private readonly logger: Logger,
  ) {}

  /** Throws AppError while nothing has been sent; if the response breaks later, closes the connection. */
  async pass(request: FastifyRequest, reply: FastifyReply, chat: ChatRequest, service: ChatService): Promise<void> {
    const { line } = callerOf(request);
    const caller = ownerOf(callerOf(request));
    const mayReadOn = Boolean(service.prices) && chat.bytes.length <= MAX_KEPT_BYTES;
    await this.watch.during(request, reply, mayReadOn, async (signals) => {
      const call = callFor(chat, service, callerOf(request).region);
      const active: ActiveChat = { ...service, ...signals, chat, call, caller, requestId: request.id };
      const outcome = await this.upstreams.call(active, (answer, attempt) =>
        this.passOn(reply, active, answer, attempt),
      );
      if (line !== undefined && mayBeBought(outcome)) line.mayBeBought = true;
      if (outcome.kind === 'uncalled') service.unused();
      else this.usage.record(usageRow(request, reply, active, outcome));
      if (outcome.kind === 'refused') sendRefusal(outcome.refusal, request, reply);
      else if (outcome.error !== undefined) throw outcome.error;
    });
  }

  /**
   * Passes a call about a stored response to the provider that holds it. It generates nothing, so it costs nothing and is
   * not recorded. Throws like `pass`.
   */
  async passStored(
    request: FastifyRequest,
    reply: FastifyReply,
    stored: StoredResponseCall,
    { memory, holder }: Pick<ChatService, 'memory'> & { readonly holder: HoldingServer },
  ): Promise<void> {
    const caller = taskOwnerOf(callerOf(request));
    const call: UpstreamCall = {
      ...stored,
      api: RESPONSES,
      path: RESPONSES.path + stored.path,
      bodyFor: () => [],
      valueFor: () => undefined,
      isChat: false,
      attempts: (_plan, isDrained) => attemptsAt(holder).filter(({ provider }) => !isDrained(provider)),
    };
    const relaying = { api: RESPONSES, hideUsage: false, afterHangupBytes: 0, memory };
    await this.watch.during(request, reply, false, async (signals) => {
      const active: ChatToSend = { ...signals, call, caller, requestId: request.id };
      const outcome = await this.upstreams.call(active, (answer, attempt) =>
        this.relay(reply, answer, active, attempt, relaying),
      );
      if (outcome.kind === 'refused') sendRefusal(outcome.refusal, request, reply);
      else if (outcome.error !== undefined) throw outcome.error;
    });
  }

  /** Records who holds the response: at first with an estimate of its tokens. */
  private storing({ chat, model, caller }: ActiveChat, { provider, key }: Attempt): NonNullable<Relaying['stored']> {
    return (id, usage, later) => {
      const row = {
        account_id: caller.accountId,
        id,
        api_key_id: caller.apiKeyId,
        model: model.name,
        provider: provider.name,
        provider_key: key?.name ?? null,
        provider_server: provider.server ?? null,
        tokens: Math.min((usage?.input ?? estimatedInput(chat)) + (usage?.output ?? 0), MAX_TOKENS),
      };
      return this.responses.record(row, later);
    };
  }

  private async passOn(
    reply: FastifyReply,
    active: ActiveChat,
    answer: ChatResponse,
    attempt: Attempt,
  ): Promise<PassedOn> {
    const { chat, prices, memory } = active;
    const hideUsage = !chat.wantsUsage;
    const afterHangupBytes = prices ? AFTER_HANGUP_BYTES : 0;
    const stored = chat.isStored ? this.storing(active, attempt) : undefined;
    const findsFiltered = chat.endUser !== undefined;
    const relaying = { api: chat.api, hideUsage, afterHangupBytes, findsFiltered, memory, ...(stored && { stored }) };
    return this.relay(reply, answer, active, attempt, relaying);
  }

  private async relay(
    reply: FastifyReply,
    answer: ChatResponse,
    { gone, requestId }: ChatToSend,
    { provider }: Attempt,
    relaying: Relaying,
  ): Promise<PassedOn> {
    const firstByteMs = Math.round(reply.elapsedTime);
    // A keep-alive connection would delay the end of the process.
    if (this.draining.started) reply.raw.shouldKeepAlive = false;
    const relayed = await relayAnswer(reply, answer, relaying);
    const { error } = relayed;
    if (error === undefined) return { ...relayed, firstByteMs, end: 'completed' };
    if (gone.aborted) return { ...relayed, firstByteMs, end: 'left' };
    this.logger.warn('chat.broken', { requestId, provider: serverId(provider), error });
    return { ...relayed, firstByteMs, end: 'broken' };
  }
}

/** Lines of batches take the turns of their account's batches, behind all its keys. */
function ownerOf(caller: Caller): TaskOwner {
  const owner = taskOwnerOf(caller);
  return caller.line === undefined ? owner : { ...owner, ...turnTakerOf({ ...owner, batchId: caller.line.batchId }) };
}

/** Whether a provider has answered, or may have. */
function mayBeBought(outcome: Outcome): boolean {
  if (outcome.kind === 'refused') return !mayAskAnother(outcome.refusal);
  return outcome.kind === 'answered' || (outcome.kind === 'unanswered' && outcome.isUnclear);
}

function callFor(chat: ChatRequest, { model, catalog, holder }: ChatService, region: string | undefined): UpstreamCall {
  const { api, streamed } = chat;
  return {
    api,
    method: 'POST',
    path: api.path,
    streamed,
    bodyFor: (name, askUsage) => bodyFor(chat, name, askUsage),
    valueFor: (name, askUsage) => valueFor(chat, name, askUsage),
    isChat: true,
    attempts: (plan, isDrained) => plan.attempts(model, catalog, isDrained, holder, region),
  };
}

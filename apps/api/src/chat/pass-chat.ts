import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Catalog, ModelEntry } from '#catalog/catalog.js';
import type { ChatResponse } from '#providers/chat/chat-provider.js';
import { Logger } from '#telemetry/logger.js';
import { callerOf, taskOwnerOf } from '../auth/caller.js';
import { Draining } from '../common/draining.js';
import type { BodyReservation } from '../common/fastify/body-memory.js';
import { CallUpstreams, type ChatToSend, type PassedOn } from './call-upstreams.js';
import type { Attempt } from './chat-plan.js';
import type { ChatRequest } from './chat-request.js';
import { ChatUsageLog } from './chat-usage-log.js';
import { usageRow, type ChatPrices } from './chat-usage-row.js';
import { relayAnswer } from './relay-answer.js';
import { sendRefusal } from './upstream-refusal.js';
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
}

/** A chat in progress. */
interface ActiveChat extends ChatService, ChatToSend {}

/**
 * How many bytes of a priced chat are read after its caller disconnects: more than the longest answer of any model. A
 * larger request is not kept in memory for that.
 */
const AFTER_HANGUP_BYTES = 8_388_608;
const MAX_KEPT_BYTES = 262_144;

/** Passes a chat to a provider, and its response back to the caller. */
@Injectable()
export class PassChat {
  constructor(
    private readonly watch: WatchChat,
    private readonly upstreams: CallUpstreams,
    private readonly usage: ChatUsageLog,
    private readonly draining: Draining,
    private readonly logger: Logger,
  ) {}

  /** Throws AppError while nothing has been sent; if the response breaks later, closes the connection. */
  async pass(request: FastifyRequest, reply: FastifyReply, chat: ChatRequest, service: ChatService): Promise<void> {
    const caller = taskOwnerOf(callerOf(request));
    const mayReadOn = Boolean(service.prices) && chat.bytes.length <= MAX_KEPT_BYTES;
    await this.watch.during(request, reply, mayReadOn, async (signals) => {
      const active: ActiveChat = { ...service, ...signals, chat, caller, requestId: request.id };
      const outcome = await this.upstreams.call(active, (answer, attempt) =>
        this.passOn(reply, active, answer, attempt),
      );
      if (outcome.kind === 'uncalled') service.unused();
      else this.usage.record(usageRow(request, reply, active, outcome));
      if (outcome.kind === 'refused') sendRefusal(outcome.refusal, request, reply);
      else if (outcome.error !== undefined) throw outcome.error;
    });
  }

  private async passOn(
    reply: FastifyReply,
    { chat, prices, memory, gone, requestId }: ActiveChat,
    answer: ChatResponse,
    { provider }: Attempt,
  ): Promise<PassedOn> {
    const firstByteMs = Math.round(reply.elapsedTime);
    // A keep-alive connection would delay the end of the process.
    if (this.draining.started) reply.raw.shouldKeepAlive = false;
    const hideUsage = !chat.wantsUsage;
    const afterHangupBytes = prices ? AFTER_HANGUP_BYTES : 0;
    const relayed = await relayAnswer(reply, answer, { api: chat.api, hideUsage, afterHangupBytes, memory });
    const { error } = relayed;
    if (error === undefined) return { ...relayed, firstByteMs, end: 'completed' };
    if (gone.aborted) return { ...relayed, firstByteMs, end: 'left' };
    this.logger.warn('chat.broken', { requestId, provider: provider.name, error });
    return { ...relayed, firstByteMs, end: 'broken' };
  }
}

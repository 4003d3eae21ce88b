import { Injectable } from '@nestjs/common';
import type { ChatUsageRow } from '#billing/chat-usage.repository.js';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Catalog, ModelEntry, TokenPrices } from '#catalog/catalog.js';
import { AppError } from '#contract/app-error.js';
import { Logger } from '#telemetry/logger.js';
import { callerOf } from '../auth/api-key.guard.js';
import { taskOwnerOf } from '../auth/caller.js';
import { AccessWatch } from '../common/access-watch.js';
import { Draining } from '../common/draining.js';
import type { BodyReservation } from '../common/fastify/body-memory.js';
import { CallUpstreams, type CallState, type Outcome } from './call-upstreams.js';
import { costOfChat } from './chat-estimate.js';
import { ChatConfig } from './chat.config.js';
import type { ChatRequest } from './chat-request.js';
import { ChatUsageLog } from './chat-usage-log.js';
import { relayAnswer, type Relayed } from './relay-answer.js';
import { isUnclear, sendRefusal } from './upstream-refusal.js';

/** Null = free, undefined = unknown. */
type ChatPrices = TokenPrices | null | undefined;

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
interface ActiveChat extends ChatService {
  readonly chat: ChatRequest;
  /** Aborted when its time limit is reached, its caller may no longer chat, or the process stops. */
  readonly signal: AbortSignal;
  /** Aborted when its caller disconnects, or may no longer chat. */
  readonly gone: AbortSignal;
}

/** Maximum bytes to read of a priced chat after its caller disconnects: more than the longest answer of any model. */
const AFTER_HANGUP_BYTES = 8_388_608;

/** How each outcome counts for the provider's circuit breaker. */
const PERMIT_ENDS = {
  completed: 'succeeded',
  refused: 'neutral',
  unanswered: 'neutral',
  left: 'neutral',
  broken: 'failed',
} as const;

/** Abort reason after the caller disconnected. */
const GONE = new Error('the caller disconnected');

/**
 * How many chats of a process may continue after their callers disconnected, and how large such a request may be in
 * bytes.
 */
const MAX_ORPHANED = 64;
const MAX_ORPHANED_BYTES = 262_144;

/** Passes a chat to a provider, and its response back to the caller. */
@Injectable()
export class PassChat {
  private orphaned = 0;

  constructor(
    private readonly upstreams: CallUpstreams,
    private readonly usage: ChatUsageLog,
    private readonly draining: Draining,
    private readonly access: AccessWatch,
    private readonly config: ChatConfig,
    private readonly logger: Logger,
  ) {}

  /** Throws AppError while nothing has been sent; if the response breaks later, closes the connection. */
  async pass(request: FastifyRequest, reply: FastifyReply, chat: ChatRequest, service: ChatService): Promise<void> {
    const call = new AbortController();
    const gone = new AbortController();
    const stop = (): void => call.abort(GONE);
    let hangupTimer: NodeJS.Timeout | undefined;
    const leave = (): void => {
      if (reply.raw.writableFinished) return;
      gone.abort(GONE);
      if (this.mayContinue(chat, service.prices)) {
        this.orphaned++;
        hangupTimer = setTimeout(stop, this.config.afterHangupMs);
      } else stop();
    };
    const totalTimer = setTimeout(() => {
      call.abort(new AppError('chat_upstream_error', 'The provider did not respond in time.'));
    }, this.config.totalMs);
    reply.raw.once('close', leave);
    if (reply.raw.destroyed) leave();
    this.draining.hold(call);
    const access = new AbortController();
    const endAccess = this.access.watch(request, access);
    access.signal.onabort = () => {
      gone.abort(access.signal.reason);
      call.abort(access.signal.reason);
    };
    try {
      await this.carry(request, reply, { ...service, chat, signal: call.signal, gone: gone.signal });
    } catch (error) {
      throw call.signal.aborted && !(error instanceof AppError) && !reply.raw.destroyed ? stopping(error) : error;
    } finally {
      endAccess();
      clearTimeout(totalTimer);
      clearTimeout(hangupTimer);
      if (hangupTimer !== undefined) this.orphaned--;
      reply.raw.off('close', leave);
      this.draining.release(call);
    }
  }

  /** Whether to keep reading for a while after the caller disconnected, so that the provider reports its usage. */
  private mayContinue(chat: ChatRequest, prices: ChatPrices): boolean {
    if (prices === null || prices === undefined || this.config.afterHangupMs === 0) return false;
    return this.orphaned < MAX_ORPHANED && chat.bytes.length <= MAX_ORPHANED_BYTES;
  }

  private async carry(request: FastifyRequest, reply: FastifyReply, active: ActiveChat): Promise<void> {
    const { chat, model, catalog, signal, gone } = active;
    const state: CallState = {};
    const { firstByteMs } = this.config;
    const caller = taskOwnerOf(callerOf(request));
    const outcome = await this.upstreams
      .call(chat, model, { requestId: request.id, caller, catalog, firstByteMs, signal, gone, state: state })
      .catch((error: unknown) => {
        this.recordUnanswered(request, reply, active, state);
        throw error;
      });
    // A keep-alive connection would delay the end of the process.
    if (this.draining.started) reply.raw.shouldKeepAlive = false;
    await this.answer(request, reply, active, outcome);
  }

  /** Records a chat without a response; it may have cost something only if it was sent. */
  private recordUnanswered(request: FastifyRequest, reply: FastifyReply, active: ActiveChat, state: CallState): void {
    if (state.attempt === undefined) {
      active.unused();
      return;
    }
    const end = active.gone.aborted ? 'left' : 'unanswered';
    const ms = reply.elapsedTime;
    const ending = { relayed: { whole: false }, end, firstByteMs: Math.round(ms), durationMs: ms } as const;
    const prices = state.isUnclear === true ? active.prices : null;
    this.usage.record(rowOf(request, { ...active, prices }, { attempt: state.attempt, status: 0 }, ending));
  }

  private async answer(
    request: FastifyRequest,
    reply: FastifyReply,
    active: ActiveChat,
    outcome: Outcome,
  ): Promise<void> {
    const firstByteMs = Math.round(reply.elapsedTime);
    const relayed: Relayed = { whole: false };
    let end: ChatUsageRow['outcome'] = 'broken';
    try {
      if (outcome.answer === undefined) {
        if (!isUnclear(outcome.refusal)) end = 'refused';
        else end = active.gone.aborted ? 'left' : 'unanswered';
        sendRefusal(outcome.refusal, request, reply);
        return;
      }
      const afterHangupBytes = active.prices ? AFTER_HANGUP_BYTES : 0;
      await relayAnswer(reply, outcome.answer, {
        hideUsage: !active.chat.wantsUsage,
        relayed,
        afterHangupBytes,
        memory: active.memory,
      });
      end = 'completed';
    } catch (error) {
      if (active.gone.aborted) end = 'left';
      else this.logger.warn('chat.broken', { requestId: request.id, provider: outcome.attempt.provider.name, error });
      throw error;
    } finally {
      if (outcome.answer !== undefined) outcome.permit.end(PERMIT_ENDS[end]);
      const { attempt } = outcome;
      const { status } = outcome.answer ?? outcome.refusal;
      const ending = { relayed, end, firstByteMs, durationMs: reply.elapsedTime };
      this.usage.record(rowOf(request, active, { attempt, status }, ending));
    }
  }
}

/** How a chat ended. */
interface ChatEnding {
  readonly relayed: Relayed;
  readonly end: ChatUsageRow['outcome'];
  readonly firstByteMs: number;
  readonly durationMs: number;
}

function rowOf(
  request: FastifyRequest,
  { chat, model: { name }, prices }: ActiveChat,
  { attempt, status }: { readonly attempt: Outcome['attempt']; readonly status: number },
  ending: ChatEnding,
): ChatUsageRow {
  const { accountId, keyId } = callerOf(request);
  const { provider, key, model } = attempt;
  const { usage } = ending.relayed;
  return {
    request_id: request.id,
    account_id: accountId,
    api_key_id: keyId,
    model: name,
    provider: provider.name,
    provider_key: key?.name ?? null,
    provider_model: model,
    streamed: chat.streamed,
    status,
    outcome: ending.end,
    input_tokens: usage?.input ?? null,
    output_tokens: usage?.output ?? null,
    cached_tokens: usage?.cached ?? null,
    first_byte_ms: ending.firstByteMs,
    duration_ms: Math.round(ending.durationMs),
    created_at: new Date().toISOString(),
    cost_micros: costOf(chat, prices, ending),
  };
}

/** A refused chat costs nothing; without a price, the cost is unknown. */
function costOf(chat: ChatRequest, prices: ChatPrices, ending: ChatEnding): number | null {
  const { end, relayed, firstByteMs, durationMs } = ending;
  if (prices === null || end === 'refused') return 0;
  if (prices === undefined) return null;
  const output = relayed.output?.tokens ?? 0;
  const unseenSeconds = end === 'left' ? (output > 0 ? firstByteMs : durationMs) / 1_000 : 0;
  return costOfChat(chat, prices, { usage: relayed.usage, whole: relayed.whole, output, unseenSeconds });
}

function stopping(cause: unknown): AppError {
  return new AppError('server_is_overloaded', 'The service is being restarted. Please try again.', {
    retryAfter: 1,
    cause,
  });
}

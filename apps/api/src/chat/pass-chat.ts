import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Catalogue, ModelEntry, TokenPrices } from '#catalogue/catalogue.js';
import { AppError } from '#contract/app-error.js';
import { tokenCost } from '#money/quote.js';
import type { Logger } from '#telemetry/logger.js';
import { callerOf } from '../auth/api-key.guard.js';
import type { Draining } from '../http/draining.js';
import type { Asked, CallUpstreams, Outcome } from './call-upstreams.js';
import type { ChatConfig } from './chat.config.js';
import type { ChatRequest } from './chat-request.js';
import type { ChatUsageLog, ChatUsageRow } from './chat-usage-log.js';
import { relayAnswer, type Relayed } from './relay-answer.js';
import { sendRefusal } from './upstream-refusal.js';

/** Null when nothing is charged, undefined when they are not known. */
type ChatPrices = TokenPrices | null | undefined;

/** What serves a chat, and at what price. */
interface ChatService {
  readonly model: ModelEntry;
  readonly catalogue: Catalogue;
  readonly prices: ChatPrices;
}

/** What the end of an answer says of its provider. */
const PASS_ENDS = {
  completed: 'succeeded',
  refused: 'neutral',
  unanswered: 'neutral',
  left: 'neutral',
  broken: 'failed',
} as const;

/** Why a call is aborted whose caller has left. */
const GONE = new Error('the caller is gone');

/** Carries a chat to a provider and its answer back. */
export class PassChat {
  constructor(
    private readonly upstreams: CallUpstreams,
    private readonly usage: ChatUsageLog,
    private readonly draining: Draining,
    private readonly config: ChatConfig,
    private readonly logger: Logger,
  ) {}

  /** Throws AppError as long as nothing has been sent; an answer that breaks later cuts the connection. */
  async pass(
    request: FastifyRequest,
    reply: FastifyReply,
    chat: ChatRequest,
    { model, catalogue, prices }: ChatService,
  ): Promise<void> {
    const call = new AbortController();
    const leave = (): void => {
      if (!reply.raw.writableFinished) call.abort(GONE);
    };
    const late = setTimeout(() => {
      call.abort(new AppError('chat_upstream_error', 'The provider took too long.'));
    }, this.config.totalMs);
    reply.raw.once('close', leave);
    this.draining.hold(call);
    const asked: Asked = {};
    try {
      const outcome = await this.upstreams
        .ask(chat, model, {
          requestId: request.id,
          catalogue,
          firstByteMs: this.config.firstByteMs,
          signal: call.signal,
          asked,
        })
        .catch((error: unknown) => {
          this.unanswered(request, reply, { chat, asked, prices, signal: call.signal });
          throw error;
        });
      // A kept connection would hold up the end of the process.
      if (this.draining.started) reply.raw.shouldKeepAlive = false;
      await this.answer(request, reply, { chat, outcome, prices, signal: call.signal });
    } catch (error) {
      throw call.signal.aborted && !(error instanceof AppError) && !reply.raw.destroyed ? stopping(error) : error;
    } finally {
      clearTimeout(late);
      reply.raw.off('close', leave);
      this.draining.letGo(call);
    }
  }

  /** Nobody answered; only what went out may have cost something. */
  private unanswered(
    request: FastifyRequest,
    reply: FastifyReply,
    { chat, asked, prices, signal }: { chat: ChatRequest; asked: Asked; prices: ChatPrices; signal: AbortSignal },
  ): void {
    if (asked.attempt === undefined) return;
    const end = signal.reason === GONE ? 'left' : 'unanswered';
    const ms = reply.elapsedTime;
    const course = { learnt: {}, end, firstByteMs: Math.round(ms), durationMs: ms } as const;
    const priced = { ...course, prices: asked.isUnclear === true ? prices : null };
    this.usage.record(rowOf(request, chat, { attempt: asked.attempt, status: 0 }, priced));
  }

  private async answer(
    request: FastifyRequest,
    reply: FastifyReply,
    { chat, outcome, prices, signal }: { chat: ChatRequest; outcome: Outcome; prices: ChatPrices; signal: AbortSignal },
  ): Promise<void> {
    const firstByteMs = Math.round(reply.elapsedTime);
    const learnt: Relayed = {};
    let end: ChatUsageRow['outcome'] = 'broken';
    try {
      if (outcome.answer === undefined) {
        sendRefusal(outcome.refusal, request, reply);
        end = 'refused';
        return;
      }
      await relayAnswer(reply, outcome.answer, { hideUsage: !chat.wantsUsage, learnt });
      end = 'completed';
    } catch (error) {
      if (signal.reason === GONE) end = 'left';
      else this.logger.warn('chat.broken', { requestId: request.id, provider: outcome.attempt.provider.name, error });
      throw error;
    } finally {
      if (outcome.answer !== undefined) outcome.pass.end(PASS_ENDS[end]);
      const { attempt } = outcome;
      const { status } = outcome.answer ?? outcome.refusal;
      const course = { learnt, end, prices, firstByteMs, durationMs: reply.elapsedTime };
      this.usage.record(rowOf(request, chat, { attempt, status }, course));
    }
  }
}

interface Course {
  readonly prices: ChatPrices;
  readonly learnt: Relayed;
  readonly end: ChatUsageRow['outcome'];
  readonly firstByteMs: number;
  readonly durationMs: number;
}

function rowOf(
  request: FastifyRequest,
  chat: ChatRequest,
  { attempt, status }: { readonly attempt: Outcome['attempt']; readonly status: number },
  course: Course,
): ChatUsageRow {
  const { accountId, keyId } = callerOf(request);
  const { provider, key, model } = attempt;
  return {
    request_id: request.id,
    account_id: accountId,
    api_key_id: keyId,
    model: chat.model,
    provider: provider.name,
    provider_key: key?.name ?? null,
    provider_model: model,
    streamed: chat.streamed,
    status,
    outcome: course.end,
    input_tokens: course.learnt.usage?.input ?? null,
    output_tokens: course.learnt.usage?.output ?? null,
    cached_tokens: course.learnt.usage?.cached ?? null,
    first_byte_ms: course.firstByteMs,
    duration_ms: Math.round(course.durationMs),
    created_at: new Date().toISOString(),
    cost_micros: costOf(course),
  };
}

/** What a provider refused costs nothing; what it did not count, nobody knows. */
function costOf({ prices, end, learnt: { usage } }: Course): number | null {
  if (prices === null || end === 'refused') return 0;
  return prices === undefined || usage === undefined ? null : tokenCost(prices, usage);
}

function stopping(cause: unknown): AppError {
  return new AppError('server_is_overloaded', 'The service is being restarted. Please try again.', {
    retryAfter: 1,
    cause,
  });
}

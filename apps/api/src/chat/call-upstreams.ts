import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { Catalog, ModelEntry } from '#catalog/catalog.js';
import { AppError } from '#contract/app-error.js';
import { ChatNotSent, type ChatResponse } from '#providers/chat/chat-provider.js';
import type { QueueCaller } from '#queue/fair-order.js';
import type { CallPermit } from '#routing/call-permit.js';
import { Logger } from '#telemetry/logger.js';
import { inSpan } from '#telemetry/spans.js';
import { ChatLimiter } from './chat-limiter.js';
import { ChatPlan, type Attempt } from './chat-plan.js';
import { ChatProtocols } from './chat-protocols.js';
import { bodyFor, valueFor, type ChatRequest } from './chat-request.js';
import { isOurFault, mayAskAnother, openAnswer, readRefusal, secondsToWait, type Refusal } from './upstream-refusal.js';

/** Seconds to avoid a key: after it was refused, and, with BUSY_REST, after a rate limit without a Retry-After. */
const REFUSED_REST = 60;
const BUSY_REST = 5;
/** Statuses that concern the key. */
const KEY_REFUSED: ReadonlySet<number> = new Set([401, 402, 403, 429]);
/** Retry delay in ms when all providers are drained. */
const CLOSED_MS = 5_000;

/** The provider that responded, and its response. The reader of `answer` ends the permit. */
export type Outcome = { readonly attempt: Attempt } & (
  | { readonly answer: ChatResponse; readonly permit: CallPermit; readonly refusal?: undefined }
  | { readonly refusal: Refusal; readonly answer?: undefined }
);

/** What is known about a chat without a response. */
export interface CallState {
  /** The last provider that was called. */
  attempt?: Attempt;
  /** The chat was sent, and its outcome is unknown. */
  isUnclear?: boolean;
}

interface CallContext {
  readonly requestId: string;
  readonly caller: QueueCaller;
  readonly catalog: Catalog;
  readonly firstByteMs: number;
  readonly signal: AbortSignal;
  /** Aborted when the caller disconnects: then no other provider is called. */
  readonly gone: AbortSignal;
  /** Filled in during the call. */
  readonly state: CallState;
}

/** Calls one provider after the other for a chat, as long as nothing can have been generated. */
@Injectable()
export class CallUpstreams {
  constructor(
    private readonly plan: ChatPlan,
    private readonly protocols: ChatProtocols,
    private readonly limiter: ChatLimiter,
    private readonly logger: Logger,
  ) {}

  /**
   * Returns the first response, or the last refusal. Throws AppError `chat_upstream_error` when no provider could be
   * reached or the outcome of the call is unknown, `server_is_overloaded` when no provider accepts calls now, and the
   * signal's reason when aborted.
   */
  async call(chat: ChatRequest, model: ModelEntry, context: CallContext): Promise<Outcome> {
    let refused: { attempt: Attempt; refusal: Refusal } | undefined;
    let cause: unknown;
    let retryAfterMs = CLOSED_MS;
    const callId = randomUUID();
    for (const attempt of this.plan.attempts(model, context.catalog, this.limiter.isDrained)) {
      context.gone.throwIfAborted();
      const permit = await this.limiter.enter(attempt.provider, attempt.key?.name ?? '', callId, context.caller);
      if ('reason' in permit) {
        retryAfterMs = Math.min(retryAfterMs, permit.retryAfterMs);
        continue;
      }
      context.state.attempt = attempt;
      const outcome = await this.traced(attempt, permit, chat, context).catch((error: unknown) => {
        permit.end(context.signal.aborted ? 'neutral' : 'failed');
        context.state.isUnclear = !(error instanceof ChatNotSent);
        context.signal.throwIfAborted();
        if (!(error instanceof ChatNotSent)) throw failed(error);
        cause = error;
        return undefined;
      });
      if (outcome?.answer !== undefined) return outcome;
      if (outcome !== undefined && !mayAskAnother(outcome.refusal)) return outcome;
      this.coolDown(attempt, outcome?.refusal, cause, context.requestId);
      if (outcome !== undefined && !isOurFault(outcome.refusal.status)) refused = outcome;
    }
    context.gone.throwIfAborted();
    if (context.state.attempt === undefined) throw noProviderAvailable(retryAfterMs);
    if (refused === undefined) throw failed(cause);
    return refused;
  }

  /** The span ends with the first bytes of the response; the request's own span covers the rest. */
  private async traced(
    attempt: Attempt,
    permit: CallPermit,
    chat: ChatRequest,
    context: CallContext,
  ): Promise<Outcome> {
    const fields = { provider: attempt.provider.name, model: attempt.model };
    return inSpan({ name: 'chat.call', kind: 'client', parent: context.requestId, fields }, async (span) => {
      const outcome = await this.try(attempt, permit, chat, context);
      span.set({ status: (outcome.answer ?? outcome.refusal).status });
      return outcome;
    });
  }

  private async try(attempt: Attempt, permit: CallPermit, chat: ChatRequest, context: CallContext): Promise<Outcome> {
    const { provider, key, model } = attempt;
    const protocol = this.protocols.of(provider.type);
    if (protocol === undefined) throw new ChatNotSent(`${provider.type} does not support chats`);
    const askUsage = provider.options['stream_usage'] !== false;
    const answer = await protocol.call(provider, {
      body: bodyFor(chat, model, askUsage),
      value: () => valueFor(chat, model, askUsage),
      key,
      streamed: chat.streamed,
      firstByteMs: context.firstByteMs,
      signal: context.signal,
    });
    const hidden = [...(provider.baseUrl === undefined ? [] : [new URL(provider.baseUrl).hostname]), key?.secret ?? ''];
    const isError = answer.status < 200 || answer.status >= 300;
    const opened = isError ? { refusal: await readRefusal(answer, hidden) } : await openAnswer(answer, hidden);
    if ('answer' in opened) return { attempt, answer: opened.answer, permit };
    const { refusal } = opened;
    endPermit(permit, refusal);
    return { attempt, refusal };
  }

  private coolDown(attempt: Attempt, refusal: Refusal | undefined, error: unknown, requestId: string): void {
    const status = refusal?.status;
    if (status === 401 || status === 402 || status === 403) this.plan.coolDown(attempt, REFUSED_REST);
    if (status === 429 && refusal !== undefined) {
      this.plan.coolDown(attempt, Math.min(secondsToWait(refusal) ?? BUSY_REST, REFUSED_REST));
    }
    if (status === undefined) this.plan.coolDown(attempt, BUSY_REST);
    this.logger.warn('chat.passed_over', {
      requestId,
      provider: [attempt.provider.name, attempt.key?.name ?? []].flat().join('/'),
      model: attempt.model,
      ...(status === undefined ? { error } : { status }),
    });
  }
}

/** Reports the refusal to the limiter, which all processes share; a bad request says nothing about the provider. */
function endPermit(permit: CallPermit, refusal: Refusal): void {
  const { status } = refusal;
  if (KEY_REFUSED.has(status)) permit.end('key_refused', (secondsToWait(refusal) ?? 0) * 1_000 || undefined);
  else permit.end(status >= 500 ? 'failed' : 'neutral');
}

function noProviderAvailable(retryAfterMs: number): AppError {
  return new AppError('server_is_overloaded', 'No provider of this model is accepting chats right now.', {
    retryAfter: Math.max(1, Math.ceil(retryAfterMs / 1_000)),
  });
}

function failed(cause: unknown): AppError {
  return new AppError('chat_upstream_error', 'The provider did not respond.', { cause });
}

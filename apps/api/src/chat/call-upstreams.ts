import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { AppError } from '#contract/app-error.js';
import { unavailable } from '#contract/unavailable.js';
import { ChatNotSent, type ChatCall, type ChatResponse } from '#providers/chat/chat-provider.js';
import { serverId, type ProviderEntry } from '#providers/provider-entry.js';
import type { QueueCaller } from '#queue/fair-order.js';
import { CallCounter, type EndedCall } from '#routing/call-counter.js';
import type { CallPermit } from '#routing/call-permit.js';
import { poolsOf } from '#routing/route-plan.js';
import { Logger } from '#telemetry/logger.js';
import { inSpan } from '#telemetry/spans.js';
import type { ChatApi } from './chat-api.js';
import { ChatLimiter, uncounted } from './chat-limiter.js';
import { ChatPlan, type Attempt } from './chat-plan.js';
import { ChatProtocols } from './chat-protocols.js';
import { ChatConfig } from './chat.config.js';
import type { Relayed } from './relay-answer.js';
import {
  isOurFault,
  mayAskAnother,
  messageIn,
  openAnswer,
  readRefusal,
  secondsToWait,
  type Refusal,
} from './upstream-refusal.js';
import type { ChatSignals } from './watch-chat.js';

/** Seconds to avoid a key: after it was refused, and after no connection or a rate limit without a Retry-After. */
const REFUSED_REST = 60;
const BUSY_REST = 5;
/** Limits how many refusals a caller waits for, however many routes and keys there are. */
const MAX_ATTEMPTS = 6;
/** Statuses that concern the key. */
const KEY_REFUSED: ReadonlySet<number> = new Set([401, 402, 403, 429]);
const NO_RESPONSE = 'The provider did not respond.';
/** Retry delay in ms when all providers are drained. */
const CLOSED_MS = 5_000;

/** What a provider is called with. */
export interface UpstreamCall {
  readonly api: ChatApi;
  readonly method: ChatCall['method'];
  /** Below the provider's base URL, with its query. */
  readonly path: string;
  /** Whether the caller requested server-sent events. */
  readonly streamed: boolean;
  /** The body for a provider that calls the model so, and whether to ask it for usage. */
  readonly bodyFor: (model: string, askUsage: boolean) => readonly Buffer[];
  readonly valueFor: (model: string, askUsage: boolean) => unknown;
  /** Whether it makes the provider generate something, and so counts in its limits. */
  readonly isChat: boolean;
  /** The calls to make, in order, as long as nothing can have been generated. */
  readonly attempts: (plan: ChatPlan, isDrained: (server: ProviderEntry) => boolean) => readonly Attempt[];
}

/** A call to send to a provider. */
export interface ChatToSend extends ChatSignals {
  readonly call: UpstreamCall;
  readonly requestId: string;
  readonly caller: QueueCaller;
}

/** A response that was passed on to the caller, or its beginning. */
export interface PassedOn extends Relayed {
  readonly end: 'completed' | 'left' | 'broken';
  /** How long the caller waited for it. */
  readonly firstByteMs: number;
}

/** The provider responded, and its response was passed on. */
interface Answered extends PassedOn {
  readonly kind: 'answered';
  readonly attempt: Attempt;
  readonly status: number;
}

/** The provider responded with an error. */
interface Refused {
  readonly kind: 'refused';
  readonly attempt: Attempt;
  readonly refusal: Refusal;
}

/** No provider gave an answer that the caller may see: none responded, or all refused our key. */
interface Unanswered {
  readonly kind: 'unanswered';
  readonly attempt: Attempt;
  /** The chat was sent, so it may have cost something. */
  readonly isUnclear: boolean;
  readonly error: Error;
}

/** No provider was called. */
interface Uncalled {
  readonly kind: 'uncalled';
  readonly error: Error;
}

/** What came of a call. */
export type Called = Answered | Refused | Unanswered;

/** What came of a chat: of the call that decided it, or of the last one. */
export type Outcome = Called | Uncalled;

/** Calls one provider after the other for a chat, as long as nothing can have been generated. */
@Injectable()
export class CallUpstreams {
  constructor(
    private readonly plan: ChatPlan,
    private readonly protocols: ChatProtocols,
    private readonly limiter: ChatLimiter,
    private readonly calls: CallCounter,
    private readonly config: ChatConfig,
    private readonly logger: Logger,
  ) {}

  /**
   * Passes the first response on with `passOn`, which must not fail, and holds its permit until then. Never fails: the
   * error of an outcome is for the caller. It is AppError `chat_upstream_error` when no provider could be reached, all
   * refused our key, or the outcome of a call is unknown, `server_is_overloaded` when no provider accepts calls now,
   * and an aborted signal's reason.
   */
  async call(
    sent: ChatToSend,
    passOn: (answer: ChatResponse, attempt: Attempt) => Promise<PassedOn>,
  ): Promise<Outcome> {
    const { call, caller, gone } = sent;
    const callId = randomUUID();
    let retryAfterMs = CLOSED_MS;
    let last: Called | undefined;
    let refused: Refused | undefined;
    let lastFailure: unknown;
    let made = 0;
    let ahead = call.attempts(this.plan, this.limiter.isDrained);
    while (made < MAX_ATTEMPTS && !gone.aborted) {
      const [pool] = poolsOf(ahead);
      const [first, ...others] = pool ?? [];
      if (first === undefined) break;
      const permit = call.isChat ? await this.limiter.enter([first, ...others], callId, caller) : uncounted(first);
      if ('reason' in permit) {
        retryAfterMs = Math.min(retryAfterMs, permit.retryAfterMs);
        ahead = ahead.slice(1 + others.length);
        continue;
      }
      ahead = ahead.filter((attempt) => attempt !== permit.option);
      made += 1;
      const began = performance.now();
      last = await this.callOne(permit.option, sent, passOn);
      if (call.isChat) this.count(last, sent.signal, performance.now() - began);
      endPermit(permit, last, sent.signal);
      if (!mayCallAnother(last)) return last;
      this.skip(last, sent.requestId);
      if (last.kind === 'unanswered') lastFailure = last.error;
      else if (!isOurFault(last.refusal.status)) refused = last;
    }
    // A refusal of our key is no answer for the caller, so after nothing else the outcome is `unanswered`.
    const left = gone.aborted ? (gone.reason as Error) : undefined;
    if (last === undefined) return { kind: 'uncalled', error: left ?? noProviderAvailable(retryAfterMs) };
    if (refused !== undefined && left === undefined) return refused;
    return { kind: 'unanswered', attempt: last.attempt, isUnclear: false, error: left ?? failed(lastFailure) };
  }

  /** Never fails; the error is ChatNotSent when another provider may be called. */
  private async callOne(
    attempt: Attempt,
    sent: ChatToSend,
    passOn: (answer: ChatResponse, attempt: Attempt) => Promise<PassedOn>,
  ): Promise<Called> {
    const { signal } = sent;
    try {
      const opened = await this.traced(attempt, sent);
      if ('refusal' in opened) return { kind: 'refused', attempt, ...opened };
      const { answer } = opened;
      return { kind: 'answered', attempt, status: answer.status, ...(await passOn(answer, attempt)) };
    } catch (error) {
      const known = error instanceof ChatNotSent ? error : failed(error);
      return {
        kind: 'unanswered',
        attempt,
        isUnclear: !(error instanceof ChatNotSent),
        error: signal.aborted ? (signal.reason as Error) : known,
      };
    }
  }

  /** The span ends with the first bytes of the response; the request's own span covers the rest. */
  private async traced(attempt: Attempt, sent: ChatToSend): Promise<Opened> {
    const fields = { provider: attempt.provider.name, model: attempt.model };
    return inSpan({ name: 'chat.call', kind: 'client', parent: sent.requestId, fields }, async (span) => {
      const opened = await this.send(attempt, sent);
      span.set({ status: ('refusal' in opened ? opened.refusal : opened.answer).status });
      return opened;
    });
  }

  private async send({ provider, key, model }: Attempt, { call, signal }: ChatToSend): Promise<Opened> {
    const { api, method, path, streamed } = call;
    const protocol = this.protocols.of(provider.type, api);
    if (protocol === undefined) throw new ChatNotSent(`${provider.type} does not support ${api.path}`);
    const askUsage = provider.options['stream_usage'] !== false;
    const answer = await protocol.call(provider, {
      method,
      path,
      body: call.bodyFor(model, askUsage),
      value: () => call.valueFor(model, askUsage),
      key,
      streamed,
      firstByteMs: this.config.firstByteMs,
      signal,
    });
    const host = provider.baseUrl === undefined ? [] : [new URL(provider.baseUrl).hostname];
    // With Entra, the key's secret is not what was sent.
    const hidden = [...host, ...(answer.credentials ?? []), key?.secret ?? ''];
    const isError = answer.status < 200 || answer.status >= 300;
    return isError ? { refusal: await readRefusal(answer, hidden) } : openAnswer(answer, hidden);
  }

  private count(called: Called, signal: AbortSignal, ms: number): void {
    const { provider: server, model } = called.attempt;
    this.calls.ended({ server, model, ms, ...endingOf(called, signal) });
  }

  /** Logs a call that another one follows, and avoids its key for a while. */
  private skip(called: Refused | Unanswered, requestId: string): void {
    const { attempt } = called;
    const rest = restOf(called);
    if (rest > 0) this.plan.coolDown(attempt, rest);
    this.logger.warn('chat.passed_over', {
      requestId,
      provider: [serverId(attempt.provider), attempt.key?.name ?? []].flat().join('/'),
      model: attempt.model,
      ...(called.kind === 'unanswered' ? { error: called.error } : { status: called.refusal.status }),
    });
  }
}

type Opened = { readonly refusal: Refusal } | { readonly answer: ChatResponse };

/** Whether nothing can have been generated, so that another provider may be called. */
function mayCallAnother(called: Called): called is Refused | Unanswered {
  if (called.kind === 'refused') return mayAskAnother(called.refusal);
  return called.kind === 'unanswered' && called.error instanceof ChatNotSent;
}

/** How each end of a response counts for the provider's circuit breaker. */
const PERMIT_ENDS = { completed: 'succeeded', left: 'neutral', broken: 'failed' } as const;

/** Reports the call to the limiter, which all processes share; a bad request says nothing about the provider. */
function endPermit(permit: CallPermit, called: Called, signal: AbortSignal): void {
  if (called.kind === 'answered') permit.end(PERMIT_ENDS[called.end]);
  else if (called.kind === 'unanswered') permit.end(signal.aborted ? 'neutral' : 'failed');
  else {
    const { status } = called.refusal;
    if (KEY_REFUSED.has(status)) permit.end('key_refused', (secondsToWait(called.refusal) ?? 0) * 1_000 || undefined);
    else permit.end(status >= 500 ? 'failed' : 'neutral');
  }
}

/** How each end of a response is counted. */
const ENDINGS = { completed: 'succeeded', left: 'canceled', broken: 'failed' } as const;

/** How the call ended, and why, if the provider is at fault. */
function endingOf(called: Called, signal: AbortSignal): Pick<EndedCall, 'ending' | 'failure'> {
  const code = 'chat_upstream_error';
  if (called.kind === 'answered') {
    const message = 'The response broke off.';
    return { ending: ENDINGS[called.end], ...(called.end === 'broken' && { failure: { code, message } }) };
  }
  if (called.kind === 'unanswered') {
    return signal.aborted ? { ending: 'canceled' } : { ending: 'failed', failure: { code, message: NO_RESPONSE } };
  }
  const { status } = called.refusal;
  if (!isOurFault(status) && status < 500 && status !== 429) return { ending: 'rejected' };
  const message = `The provider failed (${status}).`;
  // What it says about its key quotes no chat; other errors may.
  const failure = {
    code,
    status,
    message,
    ...(KEY_REFUSED.has(status) && { providerMessage: messageIn(called.refusal) }),
  };
  return { ending: status === 429 ? 'rate_limited' : 'failed', failure };
}

/** For how many seconds to avoid the key of a call that another one follows. */
function restOf(called: Refused | Unanswered): number {
  if (called.kind === 'unanswered') return BUSY_REST;
  const { status } = called.refusal;
  if (status === 429) return Math.min(secondsToWait(called.refusal) ?? BUSY_REST, REFUSED_REST);
  return KEY_REFUSED.has(status) ? REFUSED_REST : 0;
}

function noProviderAvailable(retryAfterMs: number): AppError {
  return unavailable('No provider of this model is accepting chats right now.', {
    retryAfter: Math.max(1, Math.ceil(retryAfterMs / 1_000)),
  });
}

function failed(cause: unknown): AppError {
  return new AppError('chat_upstream_error', NO_RESPONSE, { cause });
}

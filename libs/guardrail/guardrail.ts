import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { overloaded, unavailable } from '#contract/unavailable.js';
import { OperatorPoster } from '#egress/post-operator-url.js';
import type { PostFailure } from '#egress/post-failure.js';
import { FairSemaphore, type SemaphoreRefusal } from '#limits/fair-semaphore.js';
import { Logger } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';
import { guardrailMessage, type GuardrailInput } from './guardrail-message.js';
import { readVerdict, type Verdict } from './guardrail-verdict.js';
import { GuardrailConfig } from './guardrail.config.js';

const PATH = '/beta/litellm_basic_guardrail_api';
/** Enough for the longest prompt, and for the texts of a chat. */
const MAX_ANSWER_BYTES = 4_194_304;
/**
 * Checks of one process at a time, those of one account, and how many wait. With the time limit, they bound what a slow
 * guardrail can hold up.
 */
const PLACES = { places: 64, placesOfOne: 32, waiting: 1_024, waitingOfOne: 256 };
/** One line about failures per minute, however many there are. */
const LOG_INTERVAL_MS = 60_000;

/** Why a request could not be checked. `busy`: its turn did not come in time. */
type Failure = PostFailure | 'invalid' | 'busy';

/** No place for a check. */
class NoPlace extends Error {
  constructor(readonly why: SemaphoreRefusal) {
    super('no place for a check');
  }
}

/** Asks the guardrail of the settings about what is to be sent to a provider. */
@Injectable()
export class Guardrail {
  private readonly places: FairSemaphore;
  private failures = 0;
  private loggedAt = -Infinity;
  /** Of the last failure without an answer. */
  private cause: unknown;

  constructor(
    private readonly config: GuardrailConfig,
    private readonly poster: OperatorPoster,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {
    this.places = new FairSemaphore({ ...PLACES, waitMs: config.timeoutMs }, (why) => new NoPlace(why));
  }

  /** Whether there is a guardrail. */
  get isOn(): boolean {
    return this.config.url !== undefined;
  }

  /**
   * Returns undefined for a request to go on as it is, or the texts to send instead. Throws AppError `moderation_blocked`
   * when the guardrail blocks it; `server_is_overloaded` when too many wait for it, and, unless the settings accept such
   * requests, when it can't be asked. Throws the reason of `gone` when that aborts.
   */
  async check(input: GuardrailInput, gone: AbortSignal): Promise<readonly string[] | undefined> {
    const since = performance.now();
    const verdict = await this.ask(input, gone, since);
    const outcome = typeof verdict === 'string' ? verdict : verdict.kind;
    this.metrics.guardrailChecks.observe({ outcome }, (performance.now() - since) / 1_000);
    if (typeof verdict === 'string') return this.unchecked(verdict);
    if (verdict.kind === 'blocked') throw blockedByGuardrail(verdict.reason);
    return verdict.kind === 'changed' ? verdict.texts : undefined;
  }

  /** Sends a text to see whether the guardrail answers; returns what it does with it. Throws an Error that says why not. */
  async probe(): Promise<Verdict['kind']> {
    const about = { callId: 'probe', model: 'probe', accountId: 'probe', keyId: 'probe' };
    const verdict = await this.send({ ...about, texts: ['a red apple'], images: [] }, new AbortController().signal);
    if (typeof verdict !== 'string') return verdict.kind;
    throw new Error(verdict === 'invalid' ? 'it does not answer as LiteLLM’s generic guardrail API' : verdict);
  }

  private async ask(input: GuardrailInput, gone: AbortSignal, since: number): Promise<Verdict | Failure> {
    const leave = await this.places.wait(input.accountId, gone).catch((error: unknown) => {
      gone.throwIfAborted();
      if (!(error instanceof NoPlace) || error.why !== 'late') throw overloaded(error);
      return undefined;
    });
    const leftMs = Math.floor(this.config.timeoutMs - (performance.now() - since));
    if (leave === undefined) return 'busy';
    try {
      return leftMs < 1 ? 'busy' : await this.send(input, gone, leftMs);
    } finally {
      leave();
    }
  }

  private async send(
    input: GuardrailInput,
    signal: AbortSignal,
    timeoutMs = this.config.timeoutMs,
  ): Promise<Verdict | Failure> {
    const { url = '', key } = this.config;
    const { body, length } = guardrailMessage(input);
    const headers = {
      'content-type': 'application/json',
      ...(length !== undefined && { 'content-length': String(length) }),
      ...(key !== undefined && { 'x-api-key': key }),
    };
    const address = url.endsWith(PATH) ? url : url.replace(/\/+$/, '') + PATH;
    const answer = await this.poster.post(address, {
      ...{ headers, body, timeoutMs, signal },
      maxAnswerBytes: MAX_ANSWER_BYTES,
    });
    if ('failure' in answer) {
      this.cause = answer.cause;
      return answer.failure;
    }
    const isOk = answer.status >= 200 && answer.status < 300;
    return (isOk ? readVerdict(answer.body, input) : undefined) ?? 'invalid';
  }

  private unchecked(failure: Failure): undefined {
    this.log(failure);
    if (this.config.unchecked === 'accept') return;
    throw unavailable('The request cannot be checked right now. Please try again shortly.', { retryAfter: 5 });
  }

  private log(reason: Failure): void {
    this.failures += 1;
    const now = performance.now();
    if (now - this.loggedAt < LOG_INTERVAL_MS) return;
    const code = this.config.unchecked === 'accept' ? 'accepted' : 'refused';
    this.logger.warn('guardrail.failed', { reason, code, count: this.failures, error: this.cause });
    this.failures = 0;
    this.cause = undefined;
    this.loggedAt = now;
  }
}

/** The refusal of what the guardrail blocks; `reason` may be empty. */
export function blockedByGuardrail(reason: string, param?: string): AppError {
  const text = `The request was blocked by the guardrail of this service.${reason === '' ? '' : ` ${reason}`}`;
  const moderation = { categories: [], moderation_stage: 'input' as const };
  return new AppError('moderation_blocked', text, { param, moderation });
}

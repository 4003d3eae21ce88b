import type { Catalogue, ModelEntry, ProviderType } from '#catalogue/catalogue.js';
import { AppError } from '#contract/app-error.js';
import { ChatNotSent, type ChatAnswer, type ChatProvider } from '#providers/chat/chat-provider.js';
import type { Logger } from '#telemetry/logger.js';
import type { Attempt, ChatPlan } from './chat-plan.js';
import { bodyFor, type ChatRequest } from './chat-request.js';
import { isOurFault, mayAskAnother, readRefusal, secondsToWait, type Refusal } from './upstream-refusal.js';

/** Seconds that a key is left alone which was refused, or which has had enough and did not say for how long. */
const REFUSED_REST = 60;
const BUSY_REST = 5;

/** Who answered, and how. */
export type Outcome = { readonly attempt: Attempt } & (
  | { readonly answer: ChatAnswer; readonly refusal?: undefined }
  | { readonly refusal: Refusal; readonly answer?: undefined }
);

interface CallContext {
  readonly requestId: string;
  readonly catalogue: Catalogue;
  readonly firstByteMs: number;
  readonly signal: AbortSignal;
}

/** Asks one provider after the other for a chat, as long as nothing can have been generated. */
export class CallUpstreams {
  constructor(
    private readonly plan: ChatPlan,
    private readonly protocols: Partial<Record<ProviderType, ChatProvider>>,
    private readonly logger: Logger,
  ) {}

  /**
   * The first answer, or the last refusal. Throws AppError `chat_upstream_error` when nobody could be asked or it is
   * unknown what became of the call, and the signal's reason when aborted.
   */
  async ask(chat: ChatRequest, model: ModelEntry, context: CallContext): Promise<Outcome> {
    let refused: { attempt: Attempt; refusal: Refusal } | undefined;
    let cause: unknown;
    for (const attempt of this.plan.attempts(model, context.catalogue)) {
      const outcome = await this.try(attempt, chat, context).catch((error: unknown) => {
        context.signal.throwIfAborted();
        if (!(error instanceof ChatNotSent)) throw failed(error);
        cause = error;
        return undefined;
      });
      if (outcome?.answer !== undefined) return outcome;
      if (outcome !== undefined && !mayAskAnother(outcome.refusal)) return outcome;
      this.passOver(attempt, outcome?.refusal, cause, context.requestId);
      if (outcome !== undefined && !isOurFault(outcome.refusal.status)) refused = outcome;
    }
    if (refused === undefined) throw failed(cause);
    return refused;
  }

  private async try(attempt: Attempt, chat: ChatRequest, context: CallContext): Promise<Outcome> {
    const { provider, key, model } = attempt;
    const protocol = this.protocols[provider.type];
    if (protocol === undefined) throw new ChatNotSent(`${provider.type} has no chat`);
    const answer = await protocol.call(provider, {
      body: bodyFor(chat, model, provider.options['stream_usage'] !== false),
      key,
      streamed: chat.streamed,
      firstByteMs: context.firstByteMs,
      signal: context.signal,
    });
    if (answer.status >= 200 && answer.status < 300) return { attempt, answer };
    return { attempt, refusal: await readRefusal(answer) };
  }

  private passOver(attempt: Attempt, refusal: Refusal | undefined, error: unknown, requestId: string): void {
    const status = refusal?.status;
    if (status === 401 || status === 403) this.plan.rest(attempt, REFUSED_REST);
    if (status === 429 && refusal !== undefined) {
      this.plan.rest(attempt, Math.min(secondsToWait(refusal) ?? BUSY_REST, REFUSED_REST));
    }
    if (status === undefined) this.plan.rest(attempt, BUSY_REST);
    this.logger.warn('chat.passed_over', {
      requestId,
      provider: [attempt.provider.name, attempt.key?.name ?? []].flat().join('/'),
      model: attempt.model,
      ...(status === undefined ? { error } : { status }),
    });
  }
}

function failed(cause: unknown): AppError {
  return new AppError('chat_upstream_error', 'The provider did not answer.', { cause });
}

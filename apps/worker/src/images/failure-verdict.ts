import { AppError } from '#contract/app-error.js';
import { ImageError } from '#images/image-error.js';
import { mayStartAgain, type ImageProvider } from '#providers/image-provider.js';
import { ProviderError } from '#providers/provider-error.js';
import { StorageError } from '#storage/object-store.js';
import { TransitionUnanswered } from '#tasks/states/task-transitions.js';
import { DeadlinePassed, LeaseLost, ShuttingDown } from './leases.js';

/** The image was generated, and perhaps paid for, but could not be saved. */
export class ImageNotStored extends Error {
  override readonly name = 'ImageNotStored';
}

/** The start may not have been recorded, so the provider was not called. */
export class StartNotCounted extends Error {
  override readonly name = 'StartNotCounted';
}

/** Every provider that could generate the image rejects calls: a limit is reached, or its circuit breaker is open. */
export class NoProviderFree extends Error {
  override readonly name = 'NoProviderFree';

  /** `retryAfterMs`: when one of them may accept calls again. */
  constructor(readonly retryAfterMs: number) {
    super('all providers are busy');
  }
}

/** The account's share of this process's memory is in use, so the task leaves its slot to others. */
export class NoMemoryFree extends Error {
  override readonly name = 'NoMemoryFree';

  /** `retryAfterMs`: when to try again, unless room is made earlier. */
  constructor(readonly retryAfterMs: number) {
    super('the share of memory of the account is in use');
  }
}

/** The task has used up its starts, or lost that many workers. */
export function startsUsedUp(): AppError {
  return new AppError(
    'interrupted',
    'The task failed because its provider calls were used up without a finished image.',
  );
}

/**
 * The provider returned something that is not a usable image. It charges all the same, so only free providers are
 * retried.
 */
export function unusable(cause: Error): ProviderError {
  return new ProviderError('upstream_invalid_response', 'The provider did not return a usable image.', {
    retryable: true,
    charged: 'yes',
    cause,
  });
}

/** What to do with a task after an attempt that produced no image. */
export type Verdict =
  /** Writes nothing: this worker no longer holds the task, or the outcome of its last write is unknown. */
  | { readonly kind: 'leave' }
  /**
   * The task is tried again later. `wait`: this attempt does not count as a try, because no provider was free, or no
   * memory.
   */
  | { readonly kind: 'release'; readonly delayMs: number; readonly wait?: true }
  /** Its provider is still working, or still has the job; a later attempt fetches it. */
  | { readonly kind: 'park'; readonly delayMs: number }
  | { readonly kind: 'fail'; readonly error: AppError };

interface AttemptFacts {
  /** Provider calls of this task so far, including this attempt's. */
  readonly starts: number;
  readonly maxStarts: number;
  /** Tries so far, also without a provider call: all attempts but those that only waited, or only checked a job. */
  readonly tries: number;
  /** The provider of the last call, if there was one. */
  readonly provider: Pick<ImageProvider, 'free' | 'interrupted'> | undefined;
  /** Kept out of the reasons that providers give, which may quote it. */
  readonly prompt: string;
  /** The provider has sent a job id, so the job can be fetched without buying again. */
  readonly resumable: boolean;
}

const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;
const NO_PROVIDER = { free: false, interrupted: 'fail' } as const;
/** Limits, beside the deadline, tries that never reach a provider, for example while the store is down. */
const MAX_TRIES = 20;

/** The error of a task whose deadline has passed. */
export function deadlinePassed(): AppError {
  return new AppError('generation_timeout', 'The image was not finished before the deadline.');
}

/** Decides by the error alone. A task whose last start may have been charged gets no other start. */
export function verdictOn(error: unknown, facts: AttemptFacts): Verdict {
  if (error instanceof LeaseLost) return { kind: 'leave' };
  if (error instanceof ShuttingDown) return { kind: facts.resumable ? 'park' : 'release', delayMs: 0 };
  if (error instanceof NoProviderFree || error instanceof NoMemoryFree) {
    const delayMs = Math.min(Math.max(Math.ceil(error.retryAfterMs), FIRST_DELAY_MS), LONGEST_DELAY_MS);
    return facts.resumable ? { kind: 'park', delayMs } : { kind: 'release', delayMs, wait: true };
  }
  if (error instanceof StartNotCounted) return { kind: 'release', delayMs: FIRST_DELAY_MS };
  // The outcome of other unanswered writes is unknown; the next worker reads it from the row once the lease expires.
  if (error instanceof TransitionUnanswered) return { kind: 'leave' };
  if (error instanceof DeadlinePassed) return fail(deadlinePassed());
  if (error instanceof ProviderError) return onProviderError(error, facts);
  if (error instanceof AppError) return fail(error);
  if (error instanceof ImageError) return fail(new AppError(error.code, error.message, { cause: error }));
  if (error instanceof ImageNotStored) {
    return onStore(error, mayStartAgain(facts.provider ?? NO_PROVIDER, 'yes') && facts.starts < facts.maxStarts, facts);
  }
  if (error instanceof StorageError) return onStore(error, facts.tries < MAX_TRIES, facts);
  return fail(
    new AppError('internal_error', 'The image could not be generated because of an internal error.', { cause: error }),
  );
}

function onStore(error: Error, again: boolean, facts: AttemptFacts): Verdict {
  if (again) return { kind: 'release', delayMs: delayAfter(facts.tries) };
  return fail(new AppError('storage_error', 'The image could not be stored.', { cause: error }));
}

function onProviderError(error: ProviderError, facts: AttemptFacts): Verdict {
  if (
    error.retryable &&
    mayStartAgain(facts.provider ?? NO_PROVIDER, error.charged) &&
    facts.starts < facts.maxStarts
  ) {
    const delayMs = error.retryAfter === undefined ? delayAfter(facts.starts) : error.retryAfter * 1_000;
    return { kind: 'release', delayMs: Math.min(delayMs, LONGEST_DELAY_MS) };
  }
  return fail(
    new AppError(error.code, messageFor(error, facts.prompt), {
      cause: error,
      ...(error.param === undefined ? {} : { param: error.param }),
      moderation: error.moderation,
    }),
  );
}

/** Shorter prompts are words that a reason may need. */
const QUOTED_PROMPT = 12;
/** So are shorter parts of one. */
const QUOTED_PART = 24;

/** A provider's message without the prompt, which it may quote as a whole or in part. */
export function withoutPrompt(message: string, prompt: string): string {
  const plain = prompt.replace(/\s+/g, ' ');
  if (plain.length < QUOTED_PROMPT) return message;
  const text = message.replaceAll(plain, '[prompt]');
  let kept = '';
  for (let at = 0; at < text.length;) {
    let end = at + QUOTED_PART;
    if (end > text.length || !plain.includes(text.slice(at, end))) kept += text[at++];
    else {
      while (end < text.length && plain.includes(text.slice(at, end + 1))) end += 1;
      kept += '[prompt]';
      at = end;
    }
  }
  return kept;
}

/** The caller learns why the provider rejected the request, in its own words. */
function messageFor({ message, reason }: ProviderError, prompt: string): string {
  if (reason === undefined) return message;
  return `${message} The provider said: ${withoutPrompt(reason, prompt)}`;
}

function delayAfter(tries: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** Math.max(0, tries - 1), LONGEST_DELAY_MS);
}

function fail(error: AppError): Verdict {
  return { kind: 'fail', error };
}

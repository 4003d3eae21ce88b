/** Why an attempt got no answer; receivers' owners read it, so it reveals nothing about our network. */
export const ATTEMPT_ERRORS = [
  /** No answer in time. */
  'timeout',
  /** The receiver's certificate is not valid. */
  'tls',
  /** Name, address, port or connection failed; it does not tell which. */
  'unreachable',
  /** Our process was shut down during the attempt. */
  'interrupted',
  /** The account's secret can't be decrypted: SECRET_KEY has changed. */
  'secret_unreadable',
  /** Not attempted, because the installation sends no email. */
  'email_disabled',
  /** Not attempted, because the address or the account has had its emails of the hour. */
  'email_limit',
  /** Not attempted, because the endpoint is off. */
  'endpoint_disabled',
  /** Not attempted, because the endpoint or the task no longer exists. */
  'removed',
] as const;
export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

/** How one attempt ended: the receiver's status (HTTP, or SMTP of an email), or why there is none. */
export type AttemptResult =
  | {
      readonly status: number;
      /** The beginning of what it answered, for people. */
      readonly text?: string | undefined;
      /** The receiver will never take this message. */
      readonly permanent?: boolean;
    }
  | { readonly error: AttemptError };

export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** What happens to a delivery after an attempt. */
export interface NextStep {
  readonly state: DeliveryState;
  /** Milliseconds until the next attempt, when pending. */
  readonly delayMs: number;
  /** The receiver wants no more events. */
  readonly gone: boolean;
  /** Whether the attempt counts in the schedule. */
  readonly counts: boolean;
}

/** Errors that a retry can't fix. */
const FINAL: ReadonlySet<AttemptError> = new Set(['endpoint_disabled', 'removed']);

/** Decides what follows the schedule's try number `tries` (1 = the first). `retrySeconds`: the pauses between tries. */
export function nextStep(result: AttemptResult, tries: number, retrySeconds: readonly number[]): NextStep {
  const ended = { delayMs: 0, gone: false, counts: true };
  if ('error' in result) {
    if (result.error === 'interrupted') return { state: 'pending', delayMs: 0, gone: false, counts: false };
    if (FINAL.has(result.error)) return { ...ended, state: 'failed' };
  } else {
    if (result.status >= 200 && result.status < 300) return { ...ended, state: 'delivered' };
    if (result.permanent === true) return { ...ended, state: 'failed' };
    if (result.status === 410) return { ...ended, state: 'failed', gone: true };
  }
  const pause = retrySeconds[tries - 1];
  return pause === undefined ? { ...ended, state: 'failed' } : { ...ended, state: 'pending', delayMs: pause * 1_000 };
}

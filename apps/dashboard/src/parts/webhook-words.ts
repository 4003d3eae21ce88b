import type { Attempt, Endpoint, WebhookDelivery, WebhookEvent } from '../api/webhooks.ts';
import type { StateLook } from './state.tsx';

/** The selectable events, with labels. */
export const EVENTS: readonly { readonly value: WebhookEvent; readonly label: string }[] = [
  { value: 'image.task.completed', label: 'Task completed' },
  { value: 'image.task.failed', label: 'Task failed' },
  { value: 'image.task.cancelled', label: 'Task canceled' },
  { value: 'image.task.held', label: 'Task waits for approval' },
];

const LOOKS: Readonly<Record<WebhookDelivery['status'], StateLook>> = {
  pending: { label: 'Pending', color: 'amber' },
  delivered: { label: 'Delivered', color: 'green' },
  failed: { label: 'Failed', color: 'red' },
};

type Tried = Pick<WebhookDelivery, 'status' | 'attempts'>;

/** The state of a delivery in one word. */
export function deliveryLook({ status, attempts }: Tried): StateLook {
  return status === 'pending' && failuresOf(attempts) > 0 ? { label: 'Retrying', color: 'red' } : LOOKS[status];
}

/** Attempts that the receiver failed. */
export function failuresOf(attempts: readonly Attempt[]): number {
  return attempts.filter(
    ({ status, error }) => (error !== null && error !== 'interrupted') || (status !== null && !isGood(status)),
  ).length;
}

const isGood = (status: number): boolean => status >= 200 && status < 300;

/** "once", "twice", "3 times". */
export function timesOf(count: number): string {
  return count === 1 ? 'once' : count === 2 ? 'twice' : `${count.toLocaleString('en')} times`;
}

/** "31 of 31 deliveries failed in 24 hours". */
export function undeliveredOf({ delivered, failed, retrying, hours }: NonNullable<Endpoint['recent']>): string {
  const count = failed + retrying;
  const of = delivered + count;
  return `${count.toLocaleString('en')} of ${of.toLocaleString('en')} deliveries failed in ${hours} hours`;
}

const ERRORS: Readonly<Record<string, string>> = {
  timeout: 'Timed out',
  tls: 'Invalid TLS certificate',
  unreachable: 'Connection failed',
  interrupted: 'Interrupted by a restart; not counted',
  secret_unreadable: 'Can’t read the signing secret: SECRET_KEY has changed',
  email_disabled: 'Not sent: email isn’t set up (SMTP_URL)',
  email_limit: 'Not sent: too many alert emails within an hour',
  endpoint_disabled: 'Not sent: endpoint disabled',
  removed: 'Not sent: endpoint or task removed',
} satisfies Record<NonNullable<Attempt['error']>, string>;

/** "Task completed", "Test". */
export function eventName(event: WebhookDelivery['event']): string {
  return EVENTS.find(({ value }) => value === event)?.label ?? 'Test';
}

/** The result of an attempt; after an upgrade, an open page may see errors that it does not know. */
type Outcome = Pick<Attempt, 'status' | 'duration_ms'> & { readonly error: string | null };

/** How one attempt ended. */
export function attemptOutcome({ status, error, duration_ms: duration }: Outcome, isLast: boolean): string {
  if (error !== null) return ERRORS[error] ?? error;
  if (status !== null) return status === 410 ? 'Answered 410: unsubscribed' : `Answered ${status}`;
  return duration === null && isLast ? 'In progress' : 'Outcome unknown';
}

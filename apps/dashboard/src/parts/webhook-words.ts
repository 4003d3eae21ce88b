import type { Attempt, WebhookDelivery, WebhookEvent } from '../api/webhooks.ts';
import type { StateLook } from './state.tsx';

/** The events one can choose, in words. */
export const EVENTS: readonly { readonly value: WebhookEvent; readonly label: string }[] = [
  { value: 'image.task.completed', label: 'Task completed' },
  { value: 'image.task.failed', label: 'Task failed' },
  { value: 'image.task.cancelled', label: 'Task cancelled' },
];

export const DELIVERY_LOOKS: Readonly<Record<WebhookDelivery['status'], StateLook>> = {
  pending: { label: 'Pending', color: 'blue' },
  delivered: { label: 'Delivered', color: 'green' },
  failed: { label: 'Failed', color: 'red' },
};

const ERRORS: Readonly<Record<string, string>> = {
  timeout: 'No answer in time',
  tls: 'The certificate is not valid',
  unreachable: 'Could not be reached',
  interrupted: 'Cut short by a restart; it did not count',
  secret_unreadable: 'The signing secret cannot be read: SECRET_KEY has changed',
  endpoint_disabled: 'Not sent: the endpoint is switched off',
  removed: 'Not sent: the endpoint or the task is gone',
} satisfies Record<NonNullable<Attempt['error']>, string>;

/** "Task completed", "Test". */
export function eventName(event: WebhookDelivery['event']): string {
  return EVENTS.find(({ value }) => value === event)?.label ?? 'Test';
}

/** What is told of an attempt; a page that was opened before an upgrade meets errors that it does not know. */
type Outcome = Pick<Attempt, 'status' | 'duration_ms'> & { readonly error: string | null };

/** How one attempt ended. */
export function attemptOutcome({ status, error, duration_ms: duration }: Outcome, isLast: boolean): string {
  if (error !== null) return ERRORS[error] ?? error;
  if (status !== null) return status === 410 ? 'Answered 410: wants no more' : `Answered ${status}`;
  return duration === null && isLast ? 'Under way' : 'Nobody saw how it ended';
}

import type { LinkProps } from '@tanstack/react-router';
import type { Alert, AlertChannel, AlertKind, AlertRule } from '../api/alerts.ts';
import { clockTime } from './format.ts';
import type { StateLook } from './state.tsx';
import { attemptOutcome } from './webhook-words.ts';

export const ALERT_NAMES: Readonly<Record<AlertKind, string>> = {
  budget: 'Budget threshold',
  failure_rate: 'Failure rate',
  webhook_failing: 'Webhook failing',
  provider_down: 'Provider down',
  queue_wait: 'Queue wait',
  overall_failure_rate: 'Failure rate of all accounts',
  approval_waiting: 'Approval waiting',
  end_user_abuse: 'Abuse by an end user',
  unmatched_notice: 'Safety notice without effect',
};

export const CHANNEL_NAMES: Readonly<Record<AlertChannel['kind'], string>> = {
  webhook: 'Webhook',
  slack: 'Slack',
  email: 'Email',
};

/** When a rule sends an alert, as a sentence. */
export function ruleSentence(rule: AlertRule): string {
  const { kind, thresholds, window_minutes: window, min_tasks: least, hold_minutes: hold } = rule;
  const held = hold === 0 ? '' : ` for ${hold} min`;
  const percents = listed(thresholds.map((threshold) => `${threshold}%`));
  switch (kind) {
    case 'budget':
      return `When the account or a key reaches ${percents} of its budget.`;
    case 'webhook_failing':
      return `When every delivery to a webhook endpoint fails${held}.`;
    case 'approval_waiting':
      return `When a request waits for approval${held}.`;
    case 'end_user_abuse':
      return 'When a provider’s notice, or refused requests, get an end user flagged, paused, or blocked.';
    case 'unmatched_notice':
      return 'When a provider’s notice about an end user matches no account.';
    case 'provider_down':
      return `When a provider is down${held}.`;
    case 'queue_wait':
      return `When tasks wait more than ${listed(thresholds.map((threshold) => `${threshold} s`))} before they start${held}.`;
    case 'failure_rate':
    case 'overall_failure_rate':
      return `When ${percents} of the tasks that finished in the last ${window} minutes failed${held}. Needs at least ${least} tasks.`;
  }
}

/** When a firing alert resolves: only after a delay, so that a flapping alert is not sent again each time. */
export function endingSentence({ kind, clears_at: at, clear_minutes: minutes }: EndingAlert): string {
  const who = kind === 'provider_down' ? 'provider' : kind === 'webhook_failing' ? 'endpoint' : undefined;
  const lasting = `for ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`;
  if (kind === 'approval_waiting')
    return at === null
      ? `Clears once no request has waited ${lasting}`
      : `Decided; this alert clears at ${clockTime(at)} if that lasts.`;
  if (kind === 'end_user_abuse' || kind === 'unmatched_notice') return 'Clears after a day.';
  if (at === null)
    return who !== undefined
      ? `Clears once the ${who} has been healthy ${lasting}`
      : `Clears once the value has been more than 10% below the lowest threshold ${lasting}`;
  return `${who !== undefined ? 'Healthy again' : 'Back below the threshold'}; this alert clears at ${clockTime(at)} if that lasts.`;
}

type EndingAlert = Pick<Alert, 'kind' | 'clears_at' | 'clear_minutes'>;

/** The page that shows why an alert fires. */
export function causeOf({ kind, path }: Pick<Alert, 'kind' | 'path'>): Pick<LinkProps, 'to' | 'search'> {
  switch (kind) {
    case 'budget':
      return { to: path.endsWith('/keys') ? '/keys' : '/usage' };
    case 'failure_rate':
      return { to: '/tasks', search: { status: 'failed' } };
    case 'webhook_failing':
      return { to: '/webhooks' };
    case 'approval_waiting':
      return { to: '/approvals' };
    case 'end_user_abuse':
      return { to: '/end-users' };
    case 'provider_down':
    case 'queue_wait':
    case 'overall_failure_rate':
    case 'unmatched_notice':
      return { to: '/operation' };
  }
}

const SENDING: StateLook = { label: 'Sending', color: 'amber' };
/** As a delivery of a webhook that failed and is tried again. */
const RETRYING: StateLook = { label: 'Retrying', color: 'red' };

/** The state of a channel, from its latest message. */
export function channelLook({ gone, last }: AlertChannel): StateLook & { readonly why: string } {
  if (gone) return { label: 'Off (HTTP 410)', color: 'red', why: 'It answered 410. Remove it and add it again.' };
  if (last === null) return { label: 'Not tested', color: 'gray', why: 'Nothing sent yet. Send a test alert.' };
  const what = last.test ? 'Test alert' : 'Last alert';
  const outcome = attemptOutcome({ status: last.answer, error: last.error, duration_ms: null }, true);
  if (last.status === 'pending') {
    // Before the first answer, nothing has failed yet.
    const isFirst = last.answer === null && last.error === null;
    return { ...(isFirst ? SENDING : RETRYING), why: `${what}: ${outcome}.` };
  }
  return last.status === 'delivered'
    ? { label: 'Working', color: 'green', why: `${what}: ${outcome}.` }
    : { label: 'Failed', color: 'red', why: `${what}: ${outcome}.` };
}

/** "a", "a or b", "a, b, or c" */
function listed(texts: readonly string[]): string {
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(texts);
}

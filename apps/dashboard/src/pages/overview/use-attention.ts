import { useQuery } from '@tanstack/react-query';
import type { LinkProps } from '@tanstack/react-router';
import { waitingText } from '#contract/waiting.js';
import { approvalCountQuery } from '../../api/approvals.ts';
import { alertChannelsQuery, firingQuery, type Alert, type AlertChannel } from '../../api/alerts.ts';
import { catalogQuery, type ReadCatalog } from '../../api/catalog.ts';
import { providersQuery, queueQuery, type Provider, type Queue } from '../../api/operation.ts';
import { keysQuery, openFailuresQuery, useMay, useSession } from '../../api/queries.ts';
import { ownAccountQuery } from '../../api/team-queries.ts';
import type { ApiKey } from '../../api/types.ts';
import { endpointsQuery, type Endpoint } from '../../api/webhooks.ts';
import { causeOf, CHANNEL_NAMES, channelLook } from '../../parts/alert-words.ts';
import { clockSpan, clockTime, fromNow, secondsLeft } from '../../parts/format.ts';
import { undeliveredOf } from '../../parts/webhook-words.ts';
import { healthOf } from '../operation/provider-health.ts';

/** A problem that needs attention, with a link. */
export interface Notice {
  readonly text: string;
  readonly link: Pick<LinkProps, 'to' | 'search'>;
  /** Its subject: a firing alert replaces a notice with the same subject. */
  readonly about?: string;
  /** It says more than such an alert, and replaces it. */
  readonly insists?: boolean;
}

const REFRESH_MS = 15_000;
const WEEK_MS = 7 * 86_400_000;
/** Share of a budget from which a notice is shown. */
const NEARLY = 0.8;
/** Consecutive failed calls that are no coincidence. */
const MANY_FAILURES = 3;
/** Shorter waits are usual. */
const LONG_WAIT_SECONDS = 60;

const KEYS = { to: '/keys' } as const;
const OPERATION = { to: '/operation' } as const;

/**
 * Current and upcoming problems of the account and, for operators, of the installation; undefined until all of them are
 * known.
 */
export function useAttention(): Notice[] | undefined {
  const { operator } = useSession();
  const may = useMay();
  const often = { refetchInterval: REFRESH_MS };
  // Members can neither see nor retry other users' tasks.
  const failures = useQuery({ ...openFailuresQuery, ...often, enabled: may('tasks.read_all') });
  const keys = useQuery({ ...keysQuery, ...often, enabled: may('keys.read') });
  const endpoints = useQuery({ ...endpointsQuery, ...often, enabled: may('webhooks.read') });
  const account = useQuery({ ...ownAccountQuery, ...often, enabled: may('budgets.read') });
  const providers = useQuery({ ...providersQuery, ...often, enabled: operator });
  const queue = useQuery({ ...queueQuery, ...often, enabled: operator });
  const catalog = useQuery({ ...catalogQuery, enabled: operator });
  const approvals = useQuery({ ...approvalCountQuery, enabled: may('tasks.approve') });
  const alerts = useQuery({ ...firingQuery, enabled: may('alerts.manage') });
  const channels = useQuery({ ...alertChannelsQuery, ...often, enabled: may('alerts.manage') });
  if (
    [failures, keys, endpoints, account, providers, queue, catalog, approvals, alerts, channels].some(
      ({ isLoading }) => isLoading,
    )
  )
    return undefined;
  const firing = (alerts.data?.data ?? []).map(alertNotice);
  const found = [
    ...(queue.data === undefined ? [] : queueNotices(queue.data)),
    ...(providers.data?.data ?? []).flatMap(providerNotices),
    ...(catalog.data?.ending ?? []).map(endingNotice),
    ...approvalNotices(approvals.data?.count ?? 0),
    ...failureNotices(failures.data?.count ?? 0),
    ...budgetNotices('This account', account.data?.budget ?? null, { to: may('team.manage') ? '/team' : '/usage' }),
    ...(keys.data?.data ?? []).flatMap(keyNotices),
    ...(endpoints.data?.data ?? []).flatMap(endpointNotices),
    ...(channels.data?.data ?? []).flatMap(channelNotices),
  ];
  const insisting = new Set(found.filter(({ insists }) => insists).map(({ about }) => about));
  const alerting = firing.filter(({ about }) => !insisting.has(about));
  const told = new Set(alerting.map(({ about }) => about));
  return [...alerting, ...found.filter(({ about }) => about === undefined || !told.has(about))];
}

function alertNotice(alert: Alert): Notice {
  const { acknowledged_by: by } = alert;
  const text = `${alert.title}${by === null ? '' : ` (acknowledged by ${by})`}.`;
  return { text, link: causeOf(alert), about: `${alert.kind} ${alert.subject}` };
}

/** A channel that fails can't say so itself. */
function channelNotices(channel: AlertChannel): Notice[] {
  const { color, why } = channelLook(channel);
  if (color !== 'red') return [];
  const name = `${CHANNEL_NAMES[channel.kind]} ${channel.address}`;
  return [{ text: `Alerts don’t arrive at ${name}. ${why}`, link: { to: '/alerts' } }];
}

function queueNotices({ workers, waiting, waiting_for: groups, oldest_waiting_seconds: oldest }: Queue): Notice[] {
  if (workers.length === 0) return [{ text: 'No worker is running, so tasks wait for one.', link: OPERATION }];
  const [most] = groups;
  if (most === undefined || oldest < LONG_WAIT_SECONDS) return [];
  const tasks = waiting === 1 ? '1 task is' : `${waiting.toLocaleString('en')} tasks are`;
  const text = `${tasks} waiting, the oldest for ${clockSpan(oldest * 1000)}. ${waitingText(most.reason)}.`;
  return [{ text, link: OPERATION, about: 'queue_wait Queue' }];
}

function providerNotices(provider: Provider): Notice[] {
  const { label, color, why } = healthOf(provider);
  const about = `provider_down ${provider.name}`;
  // Half open counts as down, as in alerts: it has failed, and no call has succeeded since.
  if (color === 'red' || label === 'Recovering')
    return [{ text: `${provider.name}: ${label.toLowerCase()}. ${why}`, link: OPERATION, about }];
  if (label === 'Failing' && provider.last_hour.failing >= MANY_FAILURES) {
    return [{ text: `${provider.name}: failing. ${why}`, link: OPERATION, about }];
  }
  if (provider.drained !== null && provider.models.length > 0) {
    return [{ text: `${provider.name} is drained and gets no requests.`, link: OPERATION }];
  }
  const isStopped = provider.rests_ms > 0;
  return provider.resting_keys.map(({ key }) => ({
    text: `${provider.name}: ${key === '' ? 'its key' : `key ${key}`} is refused or at its limit${isStopped ? `, so it gets no requests for ${secondsLeft(provider.rests_ms)}` : ''}.`,
    link: OPERATION,
  }));
}

/** A model that its vendor shuts down, while there is time to move its callers. */
function endingNotice({ name, shutdown_date: day, successors }: ReadCatalog['ending'][number]): Notice {
  const verb = Date.parse(day) <= Date.now() ? 'ended' : 'ends';
  const instead = successors.length === 0 ? '' : ` Use ${successors.join(' or ')}.`;
  return { text: `The model ${name} ${verb} on ${day}.${instead}`, link: { to: '/catalog' } };
}

function approvalNotices(count: number): Notice[] {
  if (count === 0) return [];
  const requests = count === 1 ? '1 request waits' : `${count.toLocaleString('en')} requests wait`;
  return [{ text: `${requests} for approval.`, link: { to: '/approvals' }, about: 'approval_waiting Approvals' }];
}

/** The count stops here; there may be more. */
const MOST_FAILURES = 1_000;

/**
 * Counts only tasks that still need a retry: a failed retry counts itself, and requests that would fail again don't
 * count.
 */
function failureNotices(failed: number): Notice[] {
  if (failed === 0) return [];
  const number = failed < MOST_FAILURES ? failed.toLocaleString('en') : 'At least 1,000';
  const text = `${number} ${failed === 1 ? 'task' : 'tasks'} failed today (UTC) and can be retried.`;
  const from = new Date(new Date().setUTCHours(0, 0, 0, 0)).toISOString();
  const link: Notice['link'] = { to: '/tasks', search: { status: 'failed', from } };
  return [{ text, link, about: 'failure_rate This account' }];
}

function budgetNotices(who: string, budget: ApiKey['budget'], link: Notice['link']): Notice[] {
  if (budget === null) return [];
  const about = `budget ${who}`;
  if (budget.used_up) {
    const wait = budget.period === 'month' ? ', or wait for the next month (UTC)' : '';
    const text = `${who} has used up its budget: its calls are refused. Raise the budget${wait}.`;
    return [{ text, link, about, insists: true }];
  }
  const share = Number(budget.amount) > 0 ? Number(budget.spent) / Number(budget.amount) : 1;
  if (share < NEARLY) return [];
  const used = share >= 1 ? 'all' : `${Math.floor(share * 100)}%`;
  const text = `${who} has used ${used} of its ${budget.period === 'month' ? 'monthly ' : ''}budget.`;
  return [{ text, link, about }];
}

function keyNotices({ name, budget, expires_at: end, revoked_at: revoked, replaced_by: successor }: ApiKey): Notice[] {
  const left = end === null ? Infinity : Date.parse(end) - Date.now();
  if (revoked !== null || left <= 0) return [];
  const endsSoon = left < WEEK_MS && successor === null && end !== null;
  return [
    ...budgetNotices(`Key ${name}`, budget, KEYS),
    ...(endsSoon ? [{ text: `Key ${name} expires ${fromNow(end)}.`, link: KEYS }] : []),
  ];
}

function endpointNotices({
  url,
  disabled_at: disabled,
  disabled_reason: reason,
  failing_since,
  recent,
}: Endpoint): Notice[] {
  const link = { to: '/webhooks' } as const;
  const address = url.split('?', 1)[0] ?? url;
  if (reason === 'gone') return [{ text: `Webhook endpoint ${address} answered 410 and was disabled.`, link }];
  if (disabled !== null || failing_since === null) return [];
  const counts = recent === null ? '' : `: ${undeliveredOf(recent)}`;
  const text = `Webhook endpoint ${address} has been failing since ${clockTime(failing_since)}${counts}.`;
  return [{ text, link, about: `webhook_failing ${address}` }];
}

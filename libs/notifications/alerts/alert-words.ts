import { amountIn, decimalOf } from '#contract/money.js';
import { waitingText, type WaitingGroup, type WaitingReason } from '#contract/waiting.js';

/** The current value of one subject, and the text that describes it. */
export interface AlertReading {
  /** Identifies the subject within its kind. */
  readonly subject: string;
  /** The subject's display name. */
  readonly name: string;
  /** Compared with the thresholds. */
  readonly value: number;
  readonly title: string;
  /** What happened, with figures. */
  readonly what: string;
  readonly advice: string;
  /** The console page that shows the cause. */
  readonly path: string;
}

/** A budget that a rule of `budget` is about. Amounts are millionths of a currency. */
interface SpentBudget {
  readonly ownerId: string;
  readonly owner: 'account' | 'key';
  /** Null = the budget of the account. */
  readonly keyName: string | null;
  readonly limit: number;
  readonly spent: number;
  readonly period: 'month' | 'total';
}

const TASKS = '/console/tasks?status=failed';
const OPERATION = '/console/operation';
const APPROVALS = '/console/approvals';
const END_USERS = '/console/end-users';
const WEBHOOKS = '/console/webhooks';

/**
 * How much of a budget is used, in percent. A raised budget or a new month is a new subject, with its thresholds
 * unreached.
 */
export function budgetReading(budget: SpentBudget, currency: string, now: Date): AlertReading {
  const { ownerId, owner, keyName, limit, spent, period } = budget;
  const value = limit === 0 ? 100 : Math.floor((spent / limit) * 100);
  const name = keyName === null ? 'This account' : `Key ${keyName}`;
  const month = period === 'month' ? now.toISOString().slice(0, 7) : 'total';
  const amount = (micros: number): string => amountIn(decimalOf(micros), currency);
  return {
    subject: `${ownerId} ${limit} ${month}`,
    name,
    value,
    title: `${name} has used ${value}% of its ${period === 'month' ? 'monthly ' : ''}budget`,
    what: `${amount(spent)} of ${amount(limit)} is spent or reserved${period === 'month' ? ' this month' : ''}.`,
    advice:
      value >= 100
        ? 'Requests that cost more than what is left are rejected with HTTP 402. Raise the budget to allow them.'
        : 'Requests that cost more than what is left are rejected with HTTP 402. Raise the budget, or check Usage to see what is spending it.',
    path: owner === 'key' ? '/console/keys' : '/console/usage',
  };
}

/** The share of ended tasks that failed, in percent; 0 with fewer than `minTasks`. */
export function failureReading(
  { completed, failed }: { readonly completed: number; readonly failed: number },
  { windowMinutes, minTasks }: { readonly windowMinutes: number; readonly minTasks: number },
  overall: boolean,
): AlertReading {
  const total = completed + failed;
  const share = total === 0 || total < minTasks ? 0 : (failed / total) * 100;
  const whose = overall ? 'all tasks' : 'tasks';
  return {
    subject: 'tasks',
    name: overall ? 'All accounts' : 'This account',
    value: share,
    title: `${Math.floor(share)}% of ${whose} failed in the last ${minutes(windowMinutes)}`,
    what: `${failed.toLocaleString('en')} of ${total.toLocaleString('en')} tasks that ended in the last ${minutes(windowMinutes)} failed.`,
    advice: overall
      ? 'Check the failures by reason, and the providers.'
      : 'Open the failed tasks to see why. If the provider is at fault, ask your operator.',
    path: overall ? OPERATION : TASKS,
  };
}

/** Whether an endpoint fails: 1 = every attempt since a time has, 0 = the last one was delivered. */
export function webhookReading({
  id,
  address,
  failingSince,
  undelivered,
}: {
  readonly id: string;
  /** Its URL without secrets. */
  readonly address: string;
  readonly failingSince: Date | null;
  /** Its deliveries of the last 24 hours that did not arrive, and all that were tried. */
  readonly undelivered: { readonly count: number; readonly of: number };
}): AlertReading {
  const { count, of } = undelivered;
  return {
    subject: id,
    name: address,
    value: failingSince === null ? 0 : 1,
    title: `Webhook endpoint ${address} is failing`,
    what: `Every attempt to deliver to it fails: ${count.toLocaleString('en')} of ${of.toLocaleString('en')} deliveries of the last 24 hours have not arrived.`,
    advice: 'Open Webhooks to see how the receiver responds. Once it works again, choose “Resend all failed”.',
    path: WEBHOOKS,
  };
}

/** Whether requests wait for an approval: 1 = yes, 0 = no. */
export function approvalReading(
  { count, oldestSeconds }: { readonly count: number; readonly oldestSeconds: number },
  hours: number,
): AlertReading {
  const requests = count === 1 ? '1 request waits' : `${number(count)} requests wait`;
  return {
    subject: 'approvals',
    name: 'Approvals',
    value: count > 0 ? 1 : 0,
    title: `${requests} for approval`,
    what: `${requests} for approval, because of what they may cost. The oldest has waited ${seconds(Math.round(oldestSeconds))}.`,
    advice: `An owner or admin approves or rejects them on the page Approvals. A request that nobody approves within ${hours} hours fails, and is refunded.`,
    path: APPROVALS,
  };
}

/** An end user whom a provider's notice, or refused requests, gave a state. */
interface SuspectedEndUser {
  readonly endUser: string;
  readonly state: string;
  readonly reason: string | null;
  readonly provider: string | null;
  readonly caseId: string | null;
  readonly changedAt: Date;
}

/** That an end user was flagged, paused, or blocked: 1, as long as that is new. Each change is a new subject. */
export function endUserReading({
  endUser,
  state,
  reason,
  provider,
  caseId,
  changedAt,
}: SuspectedEndUser): AlertReading {
  const source = provider === null ? '' : ` by ${provider} (case ${caseId ?? 'unknown'})`;
  return {
    subject: `${endUser} ${changedAt.getTime()}`,
    name: endUser,
    value: 1,
    title: `End user ${endUser} was ${state}`,
    what: `The end user ${endUser} was ${state}${source}${reason === null ? '.' : `: ${reason.replace(/\.$/, '')}.`}`,
    advice: END_USER_ADVICE[state] ?? 'Open End users to decide what to do.',
    path: END_USERS,
  };
}

const END_USER_ADVICE: Readonly<Record<string, string>> = {
  flagged: 'Their requests go on. Block them on the page End users before the provider does more.',
  paused: 'Their requests get a 403 until the pause ends. The page End users ends it, or blocks them.',
  blocked: 'Their requests get a 403. The page End users unblocks them.',
};

/** A provider's notice that no account could be found for. */
interface UnmatchedNotice {
  readonly provider: string;
  readonly id: string;
  readonly caseId: string;
  readonly outcome: 'unknown' | 'unreadable';
  readonly endUser: string | null;
}

/** That a provider's notice had no effect: 1, as long as that is new. */
export function unmatchedReading({ provider, id, caseId, outcome, endUser }: UnmatchedNotice): AlertReading {
  return {
    subject: `${provider} ${id}`,
    name: provider,
    value: 1,
    title: `A safety notice of ${provider} had no effect`,
    what:
      outcome === 'unknown'
        ? `Case ${caseId} is about the end user ${endUser ?? 'unknown'}, whom no account has sent to ${provider}.`
        : `Case ${caseId} could not be read at ${provider}.`,
    advice:
      outcome === 'unknown'
        ? 'Keys with the setting “off” pass identifiers on without recording them: find the caller, and give its key another setting.'
        : 'Read the case at the provider, and check that its API key may read cases.',
    path: OPERATION,
  };
}

/** How a provider's calls went lately. */
interface ProviderFacts {
  /** Whether its circuit breaker pauses it, or waits for a success. */
  readonly isPaused: boolean;
  /** Of the last `minutes`. */
  readonly calls: number;
  readonly failed: number;
  readonly minutes: number;
  /** So many calls that all failed mean that it is down, though it is not paused. */
  readonly manyFailures: number;
}

/** Whether a provider is down: 1 = yes, 0 = no. */
export function providerReading(name: string, models: readonly string[], facts: ProviderFacts): AlertReading {
  const { isPaused, calls, failed, manyFailures } = facts;
  const isFailing = failed === calls && failed >= manyFailures;
  const lately = `in the last ${minutes(facts.minutes)}`;
  const figures = calls === 0 ? '' : ` ${number(failed)} of ${number(calls)} calls ${lately} failed.`;
  const problem = isPaused
    ? `Calls to “${name}” keep failing or time out, so Darkroom has paused it and tests it with a request now and then.${figures}`
    : `All ${number(calls)} calls to “${name}” ${lately} failed.`;
  const served =
    models.length > 5 ? `${models.slice(0, 5).join(', ')} and ${models.length - 5} more` : models.join(', ');
  return {
    subject: name,
    name,
    value: isPaused || isFailing ? 1 : 0,
    title: `Provider “${name}” is down`,
    what: `${problem} It serves ${served}; their tasks go to other providers or wait.`,
    advice:
      'Check the provider’s status page and its key. Drain it if it stays down, or add another route. Once it works again, Try now ends its pause.',
    path: OPERATION,
  };
}

/** Reasons that an alert lists. */
const MAX_REASONS = 5;

/**
 * The wait of tasks before they start, in seconds: predicted for the next one or measured for the oldest one, whichever is
 * longer. `groups`: all waiting tasks by reason, most tasks first.
 */
export function waitReading(predicted: number, groups: readonly WaitingGroup[]): AlertReading {
  const oldest = Math.max(0, ...groups.map(({ oldest_seconds: age }) => age));
  const value = Math.round(Math.max(predicted, oldest));
  const count = groups.reduce((sum, group) => sum + group.count, 0);
  return {
    subject: 'queue',
    name: 'Queue',
    value,
    title: `Tasks wait ${seconds(value)} before they start`,
    what: [
      `${counted(count)}${count === 0 ? '' : `; the oldest has waited ${seconds(oldest)}`}.`,
      ...(predicted < 0.5 ? [] : [`A new one would wait about ${seconds(Math.round(predicted))} for a worker.`]),
      ...groups.slice(0, MAX_REASONS).map(groupText),
    ].join(' '),
    advice: WAIT_ADVICE[groups[0]?.reason.for ?? 'line'],
    path: OPERATION,
  };
}

/** What shortens the wait of most tasks. */
const WAIT_ADVICE: Readonly<Record<WaitingReason['for'], string>> = {
  line: 'All workers are busy. Start more, or raise WORKER_CONCURRENCY.',
  worker: 'No worker is running. Start one, and check the worker log.',
  provider:
    'More workers don’t help: these tasks start when their provider takes calls again. Open Status and queue to see it, resume it, raise its limits, or add another route.',
  retry: 'Their last calls failed. Open Status and queue to see why.',
  queue: 'Redis does not answer. Tasks go on when it does.',
  approval: 'An owner or admin of their account must approve them.',
};

function counted(count: number): string {
  return count === 1 ? '1 task is waiting' : `${count.toLocaleString('en')} tasks are waiting`;
}

/** "150 are waiting for studio: unavailable." */
function groupText({ reason, count }: WaitingGroup): string {
  const text = waitingText(reason);
  return `${count.toLocaleString('en')} ${count === 1 ? 'is' : 'are'} ${text.charAt(0).toLowerCase()}${text.slice(1)}.`;
}

/** "Nov 23, 14:05 UTC" */
function momentOf(time: Date): string {
  const parts = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  return `${new Intl.DateTimeFormat('en-US', { ...parts, timeZone: 'UTC' }).format(time)} UTC`;
}

/** The text of a firing alert: what happened, and what to do. Pages show its times beside it, in the reader's time zone. */
export function firingText({ what, advice }: Pick<AlertReading, 'what' | 'advice'>): string {
  return `${what} ${advice}`;
}

/** The text of a resolved alert. */
export function resolvedText(startedAt: Date, resolvedAt: Date): string {
  const lasted = Math.max(1, Math.round((resolvedAt.getTime() - startedAt.getTime()) / 60_000));
  return `Resolved after ${minutes(lasted)}. Nothing to do.`;
}

/** The text of an alert where it is read by itself, with its times. */
export function sentText(text: string, startedAt: Date, resolvedAt: Date | null): string {
  const times =
    resolvedAt === null ? `Since ${momentOf(startedAt)}` : `From ${momentOf(startedAt)} to ${momentOf(resolvedAt)}`;
  return `${text} ${times}.`;
}

function number(count: number): string {
  return count.toLocaleString('en');
}

function minutes(count: number): string {
  if (count === 1) return '1 minute';
  return count < 120 ? `${count} minutes` : `${Math.round(count / 60)} hours`;
}

function seconds(count: number): string {
  return count < 120 ? `${count} s` : minutes(Math.round(count / 60));
}

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
  const amount = (micros: number): string => `${(micros / 1_000_000).toFixed(2)} ${currency}`;
  return {
    subject: `${ownerId} ${limit} ${month}`,
    name,
    value,
    title: `${name} has used ${value}% of its ${period === 'month' ? 'monthly ' : ''}budget`,
    what: `${amount(spent)} of ${amount(limit)} is spent or reserved${period === 'month' ? ' this month' : ''}.`,
    advice:
      value >= 100
        ? 'Requests that exceed the remaining budget are rejected with HTTP 402. Raise the budget to allow them.'
        : 'At 100%, requests are rejected with HTTP 402. Raise the budget, or check Usage to see what is spending it.',
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

/** Whether a provider is down: 1 = yes, 0 = no. */
export function providerReading(name: string, models: readonly string[], isDown: boolean): AlertReading {
  const served =
    models.length > 5 ? `${models.slice(0, 5).join(', ')} and ${models.length - 5} more` : models.join(', ');
  return {
    subject: name,
    name,
    value: isDown ? 1 : 0,
    title: `Provider “${name}” is down`,
    what: `Calls to “${name}” keep failing or time out, so Darkroom has paused it and tests it with a request now and then. It serves ${served}; their tasks go to other providers or wait.`,
    advice: 'Check the provider’s status page and its key. Drain it if it stays down, or add another route.',
    path: OPERATION,
  };
}

/**
 * The wait for a worker, in seconds: predicted for the next task or measured for the oldest one, whichever is longer.
 */
export function waitReading(predicted: number, measured: number): AlertReading {
  const value = Math.round(Math.max(predicted, measured));
  return {
    subject: 'queue',
    name: 'Queue',
    value,
    title: `Tasks wait ${seconds(value)} before they start`,
    what: `A new task would wait about ${seconds(Math.round(predicted))}; the oldest one has waited ${seconds(Math.round(measured))}.`,
    advice:
      'Open Status and queue. If a provider is paused, slow, or at its limit, tasks wait for it, and more workers don’t help. If all workers are busy, start more or raise WORKER_CONCURRENCY.',
    path: OPERATION,
  };
}

/** "Nov 23, 14:05 UTC" */
function momentOf(time: Date): string {
  const parts = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  return `${new Intl.DateTimeFormat('en-US', { ...parts, timeZone: 'UTC' }).format(time)} UTC`;
}

/** The text of a firing alert: what happened, since when, and what to do. */
export function firingText({ what, advice }: Pick<AlertReading, 'what' | 'advice'>, startedAt: Date): string {
  return `${what} Since ${momentOf(startedAt)}. ${advice}`;
}

/** The text of a resolved alert. */
export function resolvedText(startedAt: Date, resolvedAt: Date): string {
  const lasted = Math.max(1, Math.round((resolvedAt.getTime() - startedAt.getTime()) / 60_000));
  return `Resolved ${momentOf(resolvedAt)}, after ${minutes(lasted)}. Nothing to do.`;
}

function minutes(count: number): string {
  if (count === 1) return '1 minute';
  return count < 120 ? `${count} minutes` : `${Math.round(count / 60)} hours`;
}

function seconds(count: number): string {
  return count < 120 ? `${count} s` : minutes(Math.round(count / 60));
}

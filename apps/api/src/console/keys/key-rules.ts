import { AppError } from '#contract/app-error.js';
import { microsOf } from '#contract/money.js';
import { hasEnded, type ApiKeyRow } from '#accounts/api-keys.js';
import type { Budget } from '#billing/budgets.js';
import type { KeyChangeBody, NewKeyBody } from './dto/key-bodies.dto.js';

type Limits = Partial<Record<(typeof LIMITS)[number], number | null | undefined>>;
type Body = Omit<KeyChangeBody | NewKeyBody, 'name'>;

/** Limits that a key and its account both have. */
const LIMITS = ['submits_per_minute', 'polls_per_minute', 'tasks_in_flight'] as const;

/** Throws AppError `invalid_value` for a key's limit beyond its account's, where 0 = unlimited. */
export function assertWithinAccount(body: Limits, account: Readonly<Record<(typeof LIMITS)[number], number>>): void {
  for (const name of LIMITS) {
    const value = body[name] ?? undefined;
    const most = account[name];
    if (value === undefined || most === 0 || (value > 0 && value <= most)) continue;
    const message = `${name} must be 1 to ${most}: the account is limited to ${most}, which only an operator can change.`;
    throw new AppError('invalid_value', message, { param: name });
  }
}

/**
 * Limits, weight, budget and what needs an approval are set by admins only. Throws AppError `not_permitted` for a body that changes one of
 * them, compared with the key, or with the defaults of a new one.
 */
export function assertForMember(body: Body, key?: ApiKeyRow, budget?: Budget): void {
  const param = changedLimit(body, key, budget);
  if (param === undefined) return;
  throw new AppError(
    'not_permitted',
    'Only owners and admins can set the limits, weight, budget, and approvals of a key.',
    {
      param,
    },
  );
}

/** The first field of a body that changes what only admins set. */
function changedLimit(body: Body, key?: ApiKeyRow, budget?: Budget): string | undefined {
  const same: Readonly<Partial<Record<keyof Body, boolean>>> = {
    weight: (body.weight ?? 1) === (key?.weight ?? 1),
    submits_per_minute: body.submits_per_minute === (key?.submitsPerMinute ?? null),
    polls_per_minute: body.polls_per_minute === (key?.pollsPerMinute ?? null),
    tasks_in_flight: body.tasks_in_flight === (key?.tasksInFlight ?? null),
    approve_above: amountIn(body.approve_above) === (key?.approveAboveMicros ?? undefined),
    budget: amountIn(body.budget) === budget?.limit,
    budget_period: budget === undefined || (body.budget_period ?? budget.period) === budget.period,
  };
  return Object.entries(same).find(([name, is]) => body[name as keyof Body] !== undefined && !is)?.[0];
}

/** Undefined for no amount. */
function amountIn(text: string | null | undefined): number | undefined {
  return microsOf(text ?? '');
}

/**
 * Throws AppError `invalid_value` for another limit of a client that shares those of a key: it would have no effect. They
 * have one budget.
 */
export function assertNotShared(body: Body, row: ApiKeyRow): void {
  if (row.oauthClient === null || row.originalKeyId === null) return;
  const { budget: _budget, budget_period: _period, ...limits } = body;
  const param = changedLimit(limits, row);
  if (param === undefined) return;
  const message = `This client shares the limits of a key of its user. Set ${param} there.`;
  throw new AppError('invalid_value', message, { param });
}

/** Keys with the limits that count: those of the key that a client shares them with. Newest first, as they are. */
export function withSharedLimits(rows: readonly ApiKeyRow[]): ApiKeyRow[] {
  return rows.map((row) => {
    const { oauthClient, originalKeyId: shared } = row;
    if (oauthClient === null || shared === null) return row;
    const key = rows.find((one) => one.oauthClient === null && (one.originalKeyId ?? one.id) === shared);
    if (key === undefined) return row;
    const { weight, submitsPerMinute, pollsPerMinute, tasksInFlight, approveAboveMicros } = key;
    return { ...row, weight, submitsPerMinute, pollsPerMinute, tasksInFlight, approveAboveMicros };
  });
}

/** Throws AppError `invalid_value` for an expiry that would revive an ended key or extend a rotated one. */
export function assertEnd({ expires_at: end }: Body, row: ApiKeyRow): void {
  const { expiresAt, replacedBy } = row;
  if (end === undefined || expiresAt === null) return;
  const isLater = end === null || Date.parse(end) > expiresAt.getTime();
  const isOver = hasEnded(row);
  if (!isLater || !(isOver || replacedBy !== null)) return;
  const message = isOver
    ? 'This key has expired. Create a new one.'
    : 'A rotated key cannot expire later than it already does.';
  throw new AppError('invalid_value', message, { param: 'expires_at' });
}

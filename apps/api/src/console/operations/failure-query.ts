import { AppError } from '#contract/app-error.js';
import type { FailureKind } from '#tasks/failed-tasks.js';
import { listQuery } from '../../tasks/list-query.js';
import { MOST_DAYS } from './failure-views.js';

const DAY_MS = 86_400_000;
const USUAL_DAYS = 7;
const MAX_LENGTH = 200;

/** The time so many days ago, a week unless it is said. */
export function daysAgo(days: number | null | undefined): Date {
  return new Date(Date.now() - (days ?? USUAL_DAYS) * DAY_MS);
}

/** How far back a query asks. Throws AppError. */
export function sinceQuery(query: unknown): Date {
  const { days } = query as { days?: unknown };
  if (days === undefined || days === '') return daysAgo(undefined);
  const count = typeof days === 'string' && /^\d{1,3}$/.test(days) ? Number(days) : 0;
  if (count >= 1 && count <= MOST_DAYS) return daysAgo(count);
  throw new AppError('invalid_value', `days must be a number from 1 to ${MOST_DAYS}`, { param: 'days' });
}

/** Which failures a query asks for. Throws AppError. */
export function failureQuery(query: unknown): FailureKind & { since: Date; limit: number; after: string | undefined } {
  const { code, provider, model, ...rest } = query as Record<string, unknown>;
  const { limit, after } = listQuery({ limit: rest['limit'], after: rest['after'] });
  const called = provider === undefined || provider === '' ? null : text(provider, 'provider');
  return {
    code: text(code, 'code'),
    provider: called,
    model: text(model, 'model'),
    since: sinceQuery(query),
    limit,
    after,
  };
}

function text(value: unknown, param: string): string {
  if (typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH && !value.includes('\u0000'))
    return value;
  throw new AppError('invalid_value', `${param} must be a text of 1 to ${MAX_LENGTH} characters`, { param });
}

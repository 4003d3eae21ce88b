import { AppError } from '#contract/app-error.js';
import { USAGE_GROUPS, type UsageGroup } from '#tasks/usage.js';

const DAY_MS = 86_400_000;
/** Longest time that is asked for at once, and the usual one, in days. */
const DAYS = { day: { most: 366, usual: 30 }, hour: { most: 31, usual: 2 } } as const;

interface AskedUsage {
  readonly from: Date;
  readonly to: Date;
  readonly by: 'day' | 'hour';
  readonly group: UsageGroup;
}

/** The query of usage figures. Throws AppError naming the first wrong parameter. */
export function usageQuery(query: unknown, now: Date): AskedUsage {
  const { from, to, by = 'day', group = 'model' } = query as Record<string, unknown>;
  if (by !== 'day' && by !== 'hour') throw wrong('by', 'must be day or hour');
  const known = USAGE_GROUPS.find((one) => one === group);
  if (known === undefined) throw wrong('group', `must be one of ${USAGE_GROUPS.join(', ')}`);
  const end = readTime(to, 'to') ?? now;
  const start = readTime(from, 'from') ?? new Date(end.getTime() - DAYS[by].usual * DAY_MS);
  if (start >= end) throw wrong('from', 'must be before to');
  if (end.getTime() - start.getTime() > DAYS[by].most * DAY_MS) {
    throw wrong('from', `must be at most ${DAYS[by].most} days before to`);
  }
  return { from: start, to: end, by, group: known };
}

function readTime(value: unknown, param: string): Date | undefined {
  if (value === undefined || value === '') return undefined;
  const time = typeof value === 'string' && /^\d{4}-\d\d-\d\d/.test(value) ? Date.parse(value) : NaN;
  if (Number.isNaN(time)) throw wrong(param, 'must be a time as ISO 8601 writes it');
  return new Date(time);
}

function wrong(param: string, what: string): AppError {
  return new AppError('invalid_value', `${param} ${what}`, { param });
}

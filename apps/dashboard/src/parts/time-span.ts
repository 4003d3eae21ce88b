const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Longest time span by hours, and longest of all, in days. */
const MOST_DAYS_BY_HOUR = 2;
const MOST_DAYS = 366;

/** Whole days in UTC, or whole hours, including the current one. */
export interface TimeSpan {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  readonly by: 'hour' | 'day';
}

/** The last 24 hours, or the last days including today. */
export function lastDays(days: number, now: number): TimeSpan {
  const [by, step] = days === 1 ? (['hour', HOUR_MS] as const) : (['day', DAY_MS] as const);
  const to = (Math.floor(now / step) + 1) * step;
  return { from: to - days * DAY_MS, to, by };
}

/** From one day to another, as `2026-11-21`, both inclusive; by hours if it is short. Undefined if invalid. */
export function daysBetween(first: string, last: string): TimeSpan | undefined {
  const from = Date.parse(`${first}T00:00:00Z`);
  const to = Date.parse(`${last}T00:00:00Z`) + DAY_MS;
  // Written so that NaN fails it, too.
  if (!(to > from && to - from <= MOST_DAYS * DAY_MS)) return undefined;
  return { from, to, by: to - from <= MOST_DAYS_BY_HOUR * DAY_MS ? 'hour' : 'day' };
}

/** The start of each hour or day of a time span, as the API writes it, including those without data. */
export function stepsOf({ from, to, by }: TimeSpan): string[] {
  const step = stepMs(by);
  return Array.from({ length: Math.round((to - from) / step) }, (_, index) =>
    new Date(from + index * step).toISOString(),
  );
}

/** The hour or day that starts at a time, as the API writes times. */
export function stepAt(time: string, by: TimeSpan['by']): { readonly from: string; readonly to: string } {
  return { from: time, to: new Date(Date.parse(time) + stepMs(by)).toISOString() };
}

/** "14:00" in the reader's time zone; days are in UTC, as usage counts them. */
export function stepLabel(time: string, by: TimeSpan['by']): string {
  return new Intl.DateTimeFormat(
    undefined,
    by === 'hour' ? { hour: 'numeric', minute: '2-digit' } : { day: 'numeric', month: 'short', timeZone: 'UTC' },
  ).format(new Date(time));
}

/** "2026-11-21": the day of a time, in UTC. */
export function utcDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** The start of such a day, in ISO 8601. */
export function startOfDay(day: string): string {
  return `${day}T00:00:00.000Z`;
}

function stepMs(by: TimeSpan['by']): number {
  return by === 'hour' ? HOUR_MS : DAY_MS;
}

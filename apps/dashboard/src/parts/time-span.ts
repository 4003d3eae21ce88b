const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Whole days in UTC, or whole hours, of which the last is the one that runs. */
export interface TimeSpan {
  readonly from: number;
  /** The first moment after it. */
  readonly to: number;
  readonly by: 'hour' | 'day';
}

/** The last 24 hours, or so many days with today. */
export function lastDays(days: number, now: number): TimeSpan {
  const [by, step] = days === 1 ? (['hour', HOUR_MS] as const) : (['day', DAY_MS] as const);
  const to = (Math.floor(now / step) + 1) * step;
  return { from: to - days * DAY_MS, to, by };
}

/** When each hour or day of a span begins, as the API writes it: those without an image too. */
export function stepsOf({ from, to, by }: TimeSpan): string[] {
  const step = by === 'hour' ? HOUR_MS : DAY_MS;
  return Array.from({ length: Math.round((to - from) / step) }, (_, index) =>
    new Date(from + index * step).toISOString(),
  );
}

/** "14:00" where the reader is; days are those of UTC, as they are counted. */
export function stepLabel(time: string, by: TimeSpan['by']): string {
  return new Intl.DateTimeFormat(
    undefined,
    by === 'hour' ? { hour: '2-digit', minute: '2-digit' } : { day: 'numeric', month: 'short', timeZone: 'UTC' },
  ).format(new Date(time));
}

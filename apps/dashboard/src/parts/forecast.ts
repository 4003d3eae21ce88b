const DAY_MS = 86_400_000;

/**
 * The cost of a calendar month (UTC) if spending continues at the same rate; undefined with less than a day of data.
 * `first` is the time of the first data, in ms: earlier days would distort the rate.
 */
export function monthForecast(spent: number, first: number, now: number): number | undefined {
  const { end, from } = monthOf(first, now);
  return now - from < DAY_MS ? undefined : spent + (spent / (now - from)) * (end - now);
}

/** When a monthly budget runs out at that rate, in ms; undefined if it lasts, or has already run out. */
export function budgetEnd(spent: number, budget: number, first: number, now: number): number | undefined {
  const forecast = monthForecast(spent, first, now);
  if (forecast === undefined || forecast <= budget || spent >= budget) return undefined;
  return now + ((budget - spent) / spent) * (now - monthOf(first, now).from);
}

/** The end of the month, and the start of its data. */
function monthOf(first: number, now: number) {
  const date = new Date(now);
  const start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
  const end = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
  return { end, from: Math.max(start, first) };
}

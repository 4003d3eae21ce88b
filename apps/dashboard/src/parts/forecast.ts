const DAY_MS = 86_400_000;

/**
 * What a month of the calendar (UTC) will have cost at its end if it goes on as it began; undefined while there is less
 * than a day to judge by. `first` is the time of the first data, in ms: days before it would only thin out the rate.
 */
export function monthForecast(spent: number, first: number, now: number): number | undefined {
  const { end, from } = monthOf(first, now);
  return now - from < DAY_MS ? undefined : spent + (spent / (now - from)) * (end - now);
}

/** When a monthly budget is used up at that rate, in ms; undefined when it lasts, or is used up already. */
export function budgetEnd(spent: number, budget: number, first: number, now: number): number | undefined {
  const forecast = monthForecast(spent, first, now);
  if (forecast === undefined || forecast <= budget || spent >= budget) return undefined;
  return now + ((budget - spent) / spent) * (now - monthOf(first, now).from);
}

/** The month, and since when it has data. */
function monthOf(first: number, now: number) {
  const date = new Date(now);
  const start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
  const end = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
  return { end, from: Math.max(start, first) };
}

const DAY_MS = 86_400_000;

/**
 * What a month of the calendar (UTC) will have cost at its end if it goes on as it began; undefined on its first day, of
 * which nothing follows.
 */
export function monthForecast(spent: number, now: number): number | undefined {
  const date = new Date(now);
  const start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
  const end = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
  return now - start < DAY_MS ? undefined : (spent / (now - start)) * (end - start);
}

/** When a monthly budget is used up at that rate, in ms; undefined when it lasts, or is used up already. */
export function budgetEnd(spent: number, budget: number, now: number): number | undefined {
  const forecast = monthForecast(spent, now);
  if (forecast === undefined || forecast <= budget || spent >= budget) return undefined;
  const date = new Date(now);
  const start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
  return start + (budget / spent) * (now - start);
}

/** Headers of a response, by their names in lower case. */
type Headers = Readonly<Record<string, string | string[] | undefined>>;

const UNITS = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400 } as const;
/** Numbers above it are times since 1970. */
const LONGEST_DELAY = 100_000_000;
/** What a rate limit counts, in the names of its headers. */
const COUNTED = ['-requests', '-tokens', ''];

/**
 * The seconds that a server asked to wait: a number, also with decimals or a unit (`2.5`, `3s`, `1m30s`), or a date;
 * with status 429, also the time until a used-up rate limit starts over. Undefined if it named none.
 */
export function secondsToWait(status: number, headers: Headers, now = Date.now()): number | undefined {
  const milliseconds = Number(textOf(headers['retry-after-ms']) || NaN);
  if (milliseconds >= 0) return milliseconds / 1_000;
  const told = secondsIn(textOf(headers['retry-after']), now);
  if (told !== undefined || status !== 429) return told;
  const resets = COUNTED.flatMap((counted) => {
    const remaining = textOf(headers[`x-ratelimit-remaining${counted}`]);
    if (remaining !== '' && Number(remaining) > 0) return [];
    return secondsIn(textOf(headers[`x-ratelimit-reset${counted}`]), now) ?? [];
  });
  return resets.length === 0 ? undefined : Math.max(...resets);
}

function textOf(header: string | string[] | undefined): string {
  return (typeof header === 'string' ? header : (header?.[0] ?? '')).trim();
}

function secondsIn(text: string, now: number): number | undefined {
  if (/^\d{1,15}(?:\.\d{1,9})?$/.test(text)) return untilNow(Number(text), now);
  if (/^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|s|m|h|d)\s*)+$/i.test(text)) {
    const parts = text.toLowerCase().matchAll(/([\d.]+)(ms|s|m|h|d)/g);
    return [...parts].reduce((sum, [, number, unit]) => sum + Number(number) * UNITS[unit as keyof typeof UNITS], 0);
  }
  const date = /[a-z]{3}|-\d\d-/i.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1_000);
}

/** A delay; or the time of a clock, in seconds or milliseconds since 1970. */
function untilNow(number: number, now: number): number {
  if (number <= LONGEST_DELAY) return number;
  const at = number > LONGEST_DELAY * 1_000 ? number : number * 1_000;
  return Math.max(0, (at - now) / 1_000);
}

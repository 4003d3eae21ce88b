import type { RecentCalls } from '../api/operation.ts';
import { duration, fromNow } from './format.ts';

const number = (value: number): string => value.toLocaleString('en');

/** The calls of the last hour in one sentence. */
export function callsText({ total }: RecentCalls): string {
  const { calls, failed, rate_limited: limited, timed_out: late, rejected, canceled, average_ms: average } = total;
  if (calls === 0) return 'No calls in the last hour.';
  const why = [
    limited > 0 ? `${number(limited)} rate limited` : [],
    late > 0 ? `${number(late)} timed out` : [],
  ].flat();
  const parts = [
    `${number(calls)} ${calls === 1 ? 'call' : 'calls'}`,
    `${number(failed)} failed${why.length === 0 ? '' : ` (${why.join(', ')})`}`,
    ...(rejected > 0 ? [`${number(rejected)} rejected`] : []),
    ...(canceled > 0 ? [`${number(canceled)} canceled`] : []),
    ...(average === null ? [] : [`average ${duration(average)}`]),
  ];
  return `Last hour: ${parts.join(', ')}.`;
}

/** When and why the last call failed; null if none did in the last 24 hours. */
export function lastFailureText({ last_failure: last }: RecentCalls): string | null {
  if (last === null) return null;
  const { at, model, code, status, message, provider_message: said } = last;
  const kind = [status, code].filter((part) => part !== null).join(' ');
  // "The provider failed (500)." repeats what is already there, and the provider's own words say more.
  const words = said === null ? (message ?? '') : `The provider said: ${said}`;
  return `Last failure ${fromNow(at)}, ${model}: ${kind}. ${words}`.trim();
}

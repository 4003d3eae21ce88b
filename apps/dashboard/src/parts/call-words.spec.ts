import type { RecentCalls } from '../api/operation.ts';
import { callsText, lastFailureText } from './call-words.ts';

const NONE = { calls: 0, succeeded: 0, failed: 0, rate_limited: 0, timed_out: 0, rejected: 0, canceled: 0 };

function recent(total: Partial<RecentCalls['total']>, last: RecentCalls['last_failure'] = null): RecentCalls {
  const minute = '2026-11-29T10:00:00.000Z';
  return {
    minute,
    total: { ...NONE, average_ms: null, ...total },
    models: [],
    minutes: [],
    failing: 0,
    last_failure: last,
  };
}

describe('callsText', () => {
  it.each<[Partial<RecentCalls['total']>, string]>([
    [{}, 'No calls in the last hour.'],
    [{ calls: 1, succeeded: 1, average_ms: 2_100 }, 'Last hour: 1 call, 0 failed, average 2.1 s.'],
    [{ calls: 7, failed: 7 }, 'Last hour: 7 calls, 7 failed.'],
    [
      { calls: 1_234, failed: 5, rate_limited: 3, timed_out: 1, rejected: 2, canceled: 4 },
      'Last hour: 1,234 calls, 5 failed (3 rate limited, 1 timed out), 2 rejected, 4 canceled.',
    ],
  ])('%j', (total, text) => {
    expect(callsText(recent(total))).toBe(text);
  });
});

describe('lastFailureText', () => {
  const failure = { at: new Date().toISOString(), model: 'm', code: 'upstream_error', status: null, message: null };
  it.each([
    [
      { ...failure, provider_message: null, message: 'Not reached.' },
      'Last failure just now, m: upstream_error. Not reached.',
    ],
    [
      { ...failure, status: 500, message: 'The provider failed (500).', provider_message: 'Overloaded.' },
      'Last failure just now, m: 500 upstream_error. The provider said: Overloaded.',
    ],
    [{ ...failure, provider_message: null }, 'Last failure just now, m: upstream_error.'],
  ])('%j', (last, text) => {
    expect(lastFailureText(recent({}, last))).toBe(text);
  });

  it('is null when nothing failed', () => {
    expect(lastFailureText(recent({}))).toBeNull();
  });
});

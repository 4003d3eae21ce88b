import { secondsToWait } from './retry-after.js';

const NOW = Date.UTC(2026, 10, 28);
const told = (headers: Record<string, string>, status = 503): number | undefined => secondsToWait(status, headers, NOW);

describe('how long a provider asked to wait', () => {
  it.each<[string, number | undefined]>([
    ['7', 7],
    ['2.5', 2.5],
    ['3s', 3],
    ['250ms', 0.25],
    ['1m30s', 90],
    ['Sat, 28 Nov 2026 00:00:09 GMT', 9],
    ['Sat, 28 Nov 2020 00:00:09 GMT', 0],
    [String(NOW / 1_000 + 4), 4],
    ['soon', undefined],
    ['-1', undefined],
    ['', undefined],
  ])('is read from Retry-After: %s', (text, seconds) => {
    expect(told({ 'retry-after': text })).toBe(seconds);
  });

  it('is read from the headers of a rate limit that is used up, with status 429', () => {
    const headers = {
      'x-ratelimit-remaining-requests': '3',
      'x-ratelimit-reset-requests': '59s',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '6m0s',
    };
    expect([told(headers, 429), told(headers, 503)]).toEqual([360, undefined]);
    expect(told({ ...headers, 'retry-after-ms': '1500.5' }, 429)).toBe(1.5005);
    expect(told({ 'x-ratelimit-reset': String(NOW + 2_000) }, 429)).toBe(2);
  });
});

import { endingSentence } from './alert-words.ts';

it.each([
  ['provider_down', 5, 'Clears once the provider has been healthy for 5 minutes.'],
  ['queue_wait', 10, 'Clears once the value has been more than 10% below the lowest threshold for 10 minutes.'],
] as const)('says when a firing alert ends: %s', (kind, minutes, sentence) => {
  expect(endingSentence({ kind, clears_at: null, clear_minutes: minutes })).toBe(sentence);
});

it('says until when an alert fires whose provider is healthy again', () => {
  const ending = { kind: 'provider_down', clears_at: '2026-11-24T14:05:00Z', clear_minutes: 5 } as const;
  expect(endingSentence(ending)).toMatch(/^Healthy again; this alert clears at .*:05.* if that lasts\.$/);
});

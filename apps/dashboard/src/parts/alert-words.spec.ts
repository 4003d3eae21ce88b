import type { AlertChannel } from '../api/alerts.ts';
import { channelLook, endingSentence } from './alert-words.ts';

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

it.each([
  ['pending', null, 'Sending', 'Last alert: In progress.'],
  ['pending', 503, 'Retrying', 'Last alert: Answered 503.'],
  ['failed', 503, 'Failed', 'Last alert: Answered 503.'],
  ['delivered', 200, 'Working', 'Last alert: Answered 200.'],
] as const)('says whether alerts arrive at a channel: %s, %s', (status, answer, label, why) => {
  const made = { id: 'one', created_at: '2026-11-24T14:05:00Z' };
  const last = { ...made, status, answer, error: null, test: false };
  const channel: AlertChannel = { ...made, kind: 'slack', address: 'https://hooks.test/…lack', gone: false, last };
  expect(channelLook(channel)).toMatchObject({ label, why });
});

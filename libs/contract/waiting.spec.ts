import { waitingFor, waitingText, type WaitingReason } from './waiting.js';

const NOW = Date.parse('2026-11-29T10:00:00Z');
const inMs = (ms: number): string => new Date(NOW + ms).toISOString();
const studio = (why: WaitingReason['why'], details: Partial<WaitingReason> = {}): WaitingReason =>
  waitingFor('provider', { provider: 'studio', why, ...details });

it.each([
  [waitingFor('line'), 12, 'Waiting in line, position 12'],
  [waitingFor('line'), null, 'Waiting in line'],
  [waitingFor('worker'), 3, 'Waiting for a worker'],
  [waitingFor('queue'), null, 'Waiting for the queue, which does not answer'],
  [waitingFor('retry', { next_try_at: inMs(18_400) }), null, 'Waiting to try again in 19 s'],
  [waitingFor('retry', { next_try_at: inMs(-1) }), null, 'Waiting to try again soon'],
  [studio('drained'), 3, 'Waiting for studio: drained by an operator'],
  [studio('unavailable', { next_try_at: inMs(19_000) }), 3, 'Waiting for studio: unavailable, next try in 19 s'],
  [studio('unavailable'), 3, 'Waiting for studio: unavailable, next try soon'],
  [
    studio('key_rejected', { next_try_at: inMs(1) }),
    3,
    'Waiting for studio: its key is refused or at its limit, next try in 1 s',
  ],
  [studio('busy', { limit: 4 }), 3, 'Waiting for studio: 4 of 4 calls in use'],
  [studio('rate', { limit: 60 }), 3, 'Waiting for studio: limit of 60 per minute'],
])('says %j at position %s as "%s"', (reason, position, text) => {
  expect(waitingText(reason, NOW, position)).toBe(text);
});

it('says no time in a text that is read later', () => {
  const reasons = [
    studio('unavailable', { next_try_at: inMs(19_000) }),
    studio('busy', { limit: 4 }),
    waitingFor('retry'),
  ];
  expect(reasons.map((reason) => waitingText(reason))).toEqual([
    'Waiting for studio: unavailable',
    'Waiting for studio: 4 of 4 calls in use',
    'Waiting to try again',
  ]);
});

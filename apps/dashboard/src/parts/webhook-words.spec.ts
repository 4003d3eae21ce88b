import { attemptOutcome, eventName } from './webhook-words.ts';

describe('what is said of webhooks', () => {
  const attempt = { number: 1, started_at: '2026-01-01T00:00:00Z', duration_ms: 12, status: null, error: null };

  it.each([
    [{ status: 204 }, 'Answered 204'],
    [{ status: 410 }, 'Answered 410: unsubscribed'],
    [{ error: 'timeout' }, 'Timed out'],
    [{ error: 'of_tomorrow' }, 'of_tomorrow'],
    [{ duration_ms: null }, 'In progress'],
  ])('of an attempt with %j', (part, words) => {
    expect(attemptOutcome({ ...attempt, ...part }, true)).toBe(words);
  });

  it('does not take an attempt whose worker died for one that runs', () => {
    expect(attemptOutcome({ ...attempt, duration_ms: null }, false)).toBe('Outcome unknown');
  });

  it('names events', () => {
    expect([eventName('image.task.failed'), eventName('webhook.test')]).toEqual(['Task failed', 'Test']);
  });
});

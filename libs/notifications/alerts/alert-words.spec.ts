import { waitingFor } from '#contract/waiting.js';
import {
  budgetReading,
  failureReading,
  firingText,
  providerReading,
  resolvedText,
  sentText,
  waitReading,
} from './alert-words.js';

const NOW = new Date('2026-11-23T14:05:00Z');
const budget = { ownerId: 'key_1', owner: 'key', limit: 10_000_000, spent: 8_239_000, period: 'month' } as const;

describe('the words of alerts', () => {
  it('say how much of a budget is used, and what happens at its end', () => {
    const reading = budgetReading({ ...budget, keyName: 'shop' }, 'USD', NOW);
    expect(reading).toMatchObject({
      subject: 'key_1 10000000 2026-11',
      value: 82,
      path: '/console/keys',
      title: 'Key shop has used 82% of its monthly budget',
      what: '$8.239 of $10.00 is spent or reserved this month.',
    });
    expect(reading.advice).toContain('Requests that cost more than what is left are rejected with HTTP 402.');
    const account = { ...budget, owner: 'account', keyName: null, period: 'total', limit: 0, spent: 0 } as const;
    expect(budgetReading(account, 'EUR', NOW)).toMatchObject({
      subject: 'key_1 0 total',
      title: 'This account has used 100% of its budget',
      path: '/console/usage',
      advice: expect.stringContaining('are rejected with HTTP 402'),
    });
  });

  it('count failures once there are enough tasks', () => {
    const rule = { windowMinutes: 15, minTasks: 20 };
    expect(failureReading({ completed: 15, failed: 5 }, rule, false)).toMatchObject({
      value: 25,
      title: '25% of tasks failed in the last 15 minutes',
      path: '/console/tasks?status=failed',
      what: '5 of 20 tasks that ended in the last 15 minutes failed.',
    });
    expect(failureReading({ completed: 0, failed: 19 }, rule, true).value).toBe(0);
    expect(failureReading({ completed: 0, failed: 0 }, { ...rule, minTasks: 0 }, true).value).toBe(0);
  });

  it('name the provider and its models', () => {
    const models = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const facts = { isPaused: true, calls: 12, failed: 12, minutes: 10, manyFailures: 5 };
    expect(providerReading('house', models, facts)).toMatchObject({
      value: 1,
      title: 'Provider “house” is down',
      what: expect.stringContaining(
        '12 of 12 calls in the last 10 minutes failed. It serves a, b, c, d, e and 2 more;',
      ),
    });
    expect(providerReading('house', ['a'], { ...facts, isPaused: false })).toMatchObject({
      value: 1,
      what: expect.stringMatching(/^All 12 calls to “house” in the last 10 minutes failed\. It serves a;/),
    });
    const values = [{ calls: 13 }, { calls: 4, failed: 4 }, { calls: 0, failed: 0 }].map(
      (more) => providerReading('house', ['a'], { ...facts, isPaused: false, ...more }).value,
    );
    expect(values).toEqual([0, 0, 0]);
  });

  it('say how many tasks wait and why, and advise more workers only where those help', () => {
    const studio = waitingFor('provider', { provider: 'studio', why: 'unavailable', next_try_at: NOW.toISOString() });
    const held = { reason: studio, count: 1_500, oldest_seconds: 600 };
    const inLine = { reason: waitingFor('line'), count: 1, oldest_seconds: 12 };
    expect(waitReading(90.4, [held, inLine])).toMatchObject({
      value: 600,
      title: 'Tasks wait 10 minutes before they start',
      what:
        '1,501 tasks are waiting; the oldest has waited 10 minutes. A new one would wait about 90 s for a worker. ' +
        '1,500 are waiting for studio: unavailable. 1 is waiting in line.',
      advice: expect.stringMatching(/^More workers don’t help/),
    });
    expect(waitReading(70, [inLine])).toMatchObject({
      value: 70,
      advice: expect.stringContaining('WORKER_CONCURRENCY'),
    });
    expect(waitReading(70, [])).toMatchObject({
      what: '0 tasks are waiting. A new one would wait about 70 s for a worker.',
    });
  });

  it('say how long it lasted, and the times only where they are read by themselves', () => {
    const text = firingText({ what: 'It broke.', advice: 'Mend it.' });
    expect(text).toBe('It broke. Mend it.');
    expect(sentText(text, NOW, null)).toBe('It broke. Mend it. Since Nov 23, 14:05 UTC.');
    const after = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000);
    expect(resolvedText(NOW, after(0))).toBe('Resolved after 1 minute. Nothing to do.');
    expect(sentText(resolvedText(NOW, after(12)), NOW, after(12))).toBe(
      'Resolved after 12 minutes. Nothing to do. From Nov 23, 14:05 UTC to Nov 23, 14:17 UTC.',
    );
    expect(resolvedText(NOW, after(600))).toContain('after 10 hours');
  });
});

import {
  budgetReading,
  failureReading,
  firingText,
  providerReading,
  resolvedText,
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
      what: '8.24 USD of 10.00 USD is spent or reserved this month.',
    });
    expect(reading.advice).toContain('At 100%');
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

  it('name the provider and its models, and the longer wait', () => {
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
    expect(waitReading(90.4, 600)).toMatchObject({
      value: 600,
      title: 'Tasks wait 10 minutes before they start',
      what: 'A new task would wait about 90 s; the oldest one has waited 10 minutes.',
    });
  });

  it('say since when, and how long it lasted', () => {
    expect(firingText({ what: 'It broke.', advice: 'Mend it.' }, NOW)).toBe(
      'It broke. Since Nov 23, 14:05 UTC. Mend it.',
    );
    const after = (minutes: number) => resolvedText(NOW, new Date(NOW.getTime() + minutes * 60_000));
    expect(after(0)).toBe('Resolved Nov 23, 14:05 UTC, after 1 minute. Nothing to do.');
    expect(after(12)).toContain('after 12 minutes');
    expect(after(600)).toContain('after 10 hours');
  });
});

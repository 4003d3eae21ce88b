import { loadConfig } from '#config/load-config.js';
import { nextStep } from './next-step.js';
import { WebhooksConfig } from '../webhooks.config.js';

const schedule = loadConfig([WebhooksConfig], {})[0].retrySeconds.map(Number);

describe('nextStep', () => {
  it('keeps the schedule of the contract, then gives up', () => {
    const steps = [1, 2, 3, 4, 5, 6, 7].map((tries) => nextStep({ status: 500 }, tries, schedule));
    const minutes = 60_000;
    expect(steps.map(({ delayMs }) => delayMs)).toEqual([
      5_000,
      5 * minutes,
      30 * minutes,
      120 * minutes,
      300 * minutes,
      600 * minutes,
      0,
    ]);
    expect(steps.map(({ state }) => state)).toEqual([...Array<string>(6).fill('pending'), 'failed']);
  });

  it('gives up at once on a message that will never be taken', () => {
    expect(nextStep({ status: 550, permanent: true }, 1, schedule)).toMatchObject({ state: 'failed', gone: false });
  });

  it.each([200, 204, 299])('takes %d for delivered', (status) => {
    expect(nextStep({ status }, 1, schedule)).toMatchObject({ state: 'delivered', gone: false });
  });

  it.each([
    { status: 301 },
    { status: 404 },
    { status: 429 },
    { status: 503 },
    { error: 'timeout' },
    { error: 'tls' },
    { error: 'unreachable' },
    { error: 'secret_unreadable' },
  ] as const)('tries again after %j', (result) => {
    expect(nextStep(result, 1, schedule)).toEqual({ state: 'pending', delayMs: 5_000, gone: false, counts: true });
  });

  it('never asks again who answered 410', () => {
    expect(nextStep({ status: 410 }, 1, schedule)).toMatchObject({ state: 'failed', gone: true });
  });

  it.each(['endpoint_disabled', 'removed'] as const)('ends at once on %s', (error) => {
    expect(nextStep({ error }, 1, schedule)).toMatchObject({ state: 'failed', gone: false });
  });

  it('does not count an attempt that our own end cut short', () => {
    expect(nextStep({ error: 'interrupted' }, 7, schedule)).toMatchObject({
      state: 'pending',
      delayMs: 0,
      counts: false,
    });
  });
});

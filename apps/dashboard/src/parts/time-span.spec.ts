import { daysBetween, lastDays, stepAt, stepsOf } from './time-span.ts';

const NOW = Date.parse('2026-11-21T14:40:00Z');

describe('time spans', () => {
  it('ends days with today, and hours with the one that runs', () => {
    expect(stepsOf(lastDays(7, NOW))).toEqual(
      [15, 16, 17, 18, 19, 20, 21].map((day) => `2026-11-${day}T00:00:00.000Z`),
    );
    const hours = stepsOf(lastDays(1, NOW));
    expect([hours.length, hours[0], hours.at(-1)]).toEqual([
      24,
      '2026-11-20T15:00:00.000Z',
      '2026-11-21T14:00:00.000Z',
    ]);
  });

  it('takes days with both ends, by hours when they are two at most, and nothing that is no time', () => {
    expect(stepsOf(daysBetween('2026-10-31', '2026-11-02')!)).toEqual(
      ['2026-10-31', '2026-11-01', '2026-11-02'].map((day) => `${day}T00:00:00.000Z`),
    );
    const hours = daysBetween('2026-11-01', '2026-11-02')!;
    expect([hours.by, stepsOf(hours).length]).toEqual(['hour', 48]);
    for (const [first, last] of [
      ['2026-11-02', '2026-11-01'],
      ['2024-11-01', '2026-11-01'],
      ['yesterday', '2026-11-01'],
    ] as const)
      expect(daysBetween(first, last)).toBeUndefined();
  });

  it('ends a step where the next one begins', () => {
    const from = '2026-11-21T00:00:00.000Z';
    const to = '2026-11-22T00:00:00.000Z';
    expect(stepAt(from, 'day')).toEqual({ from, to });
    expect(stepAt(from, 'hour')).toEqual({ from, to: '2026-11-21T01:00:00.000Z' });
  });
});

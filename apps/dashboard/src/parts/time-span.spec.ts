import { lastDays, stepsOf } from './time-span.ts';

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
});

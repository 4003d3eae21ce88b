import type { UsageRow } from '../../api/types.ts';
import { weekOf } from './week-of.ts';

describe('the last seven days', () => {
  const row = (time: string, images: number, spend: string): UsageRow =>
    ({ time, images, failed: 1, spend }) as UsageRow;

  it('are whole days in UTC, with the empty ones, and all groups of a day together', () => {
    const days = weekOf(
      {
        data: [
          row('2026-11-28T00:00:00.000Z', 2, '0.100000'),
          row('2026-11-28T00:00:00.000Z', 3, '0.200000'),
          row('2026-11-29T00:00:00.000Z', 4, '0'),
          row('2026-11-22T00:00:00.000Z', 9, '9'),
        ],
      },
      Date.parse('2026-11-29T23:59:59Z'),
    );
    expect(days.map(({ time }) => time.slice(0, 10))).toEqual(
      ['23', '24', '25', '26', '27', '28', '29'].map((day) => `2026-11-${day}`),
    );
    expect(days.map(({ images }) => images)).toEqual([0, 0, 0, 0, 0, 5, 4]);
    expect(days[5]).toMatchObject({ failed: 2 });
    expect(days[5]?.spend).toBeCloseTo(0.3, 9);
  });
});

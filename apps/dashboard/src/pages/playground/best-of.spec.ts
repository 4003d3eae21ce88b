import { bestOf } from './best-of.ts';

const START = Date.parse('2026-11-23T12:00:00Z');
const task = (
  status: 'pending' | 'completed' | 'failed',
  milliseconds: number,
  amount: string | null = '0.020000',
) => ({
  status,
  created_at: new Date(START).toISOString(),
  finished_at: status === 'pending' ? null : new Date(START + milliseconds).toISOString(),
  cost: { amount, currency: 'USD', state: 'settled' as const },
});

describe('the best of compared tasks', () => {
  it('are the fastest and the cheapest, once all have ended', () => {
    const quick = task('completed', 800, '0.04');
    const cheap = task('completed', 3_000, '0.020000');
    expect(bestOf([quick, cheap])).toEqual([['Fastest'], ['Cheapest']]);
    expect(bestOf([quick, cheap, task('pending', 0)])).toEqual([[], [], []]);
    expect(bestOf([quick, cheap, undefined])).toEqual([[], [], []]);
    expect(bestOf([cheap, null, quick])).toEqual([['Cheapest'], [], ['Fastest']]);
    expect(bestOf([cheap, { ...quick, cost: null }])).toEqual([[], ['Fastest', 'Cheapest']]);
  });

  it('are several where they look the same, and none where all do', () => {
    const one = task('completed', 2_010);
    const other = task('completed', 1_990, '0.02');
    expect(bestOf([one, other])).toEqual([[], []]);
    expect(bestOf([one, other, task('completed', 9_000, '0.04')])).toEqual([
      ['Fastest', 'Cheapest'],
      ['Fastest', 'Cheapest'],
      [],
    ]);
  });

  it('are the fastest only by a difference that another run would show as well', () => {
    const timesOf = (...milliseconds: number[]) => bestOf(milliseconds.map((time) => task('completed', time)));
    expect(timesOf(420, 431)).toEqual([[], []]);
    expect(timesOf(420, 919)).toEqual([[], []]);
    expect(timesOf(420, 920)).toEqual([['Fastest'], []]);
    expect(timesOf(420, 431, 1_500)).toEqual([['Fastest'], ['Fastest'], []]);
    // Of long ones, a tenth.
    expect(timesOf(20_000, 21_900)).toEqual([[], []]);
    expect(timesOf(20_000, 22_000)).toEqual([['Fastest'], []]);
  });

  it('are none of those that failed, or whose price nobody knows', () => {
    const one = task('completed', 2_000, '0.04');
    const other = task('completed', 5_000, '0.02');
    expect(bestOf([task('failed', 10, '0'), one, other])).toEqual([[], ['Fastest'], ['Cheapest']]);
    expect(bestOf([task('failed', 10, '0'), one])).toEqual([[], []]);
    expect(bestOf([one, task('completed', 5_000, null)])).toEqual([['Fastest'], []]);
  });
});

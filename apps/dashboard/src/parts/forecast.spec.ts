import { budgetEnd, monthForecast } from './forecast.ts';

const NOW = Date.parse('2026-11-16T00:00:00Z');
const LONG_AGO = Date.parse('2026-01-01T00:00:00Z');

describe('forecasts', () => {
  it('goes on as the month began, and says nothing on its first day', () => {
    expect(monthForecast(30, LONG_AGO, NOW)).toBe(60);
    expect(monthForecast(30, LONG_AGO, Date.parse('2026-11-01T23:00:00Z'))).toBeUndefined();
  });

  it('counts from the first data when that is within the month, and says nothing of less than a day', () => {
    const first = Date.parse('2026-11-11T00:00:00Z');
    expect(monthForecast(30, first, NOW)).toBe(120);
    expect(monthForecast(0.05, NOW - 60_000, NOW)).toBeUndefined();
    expect(monthForecast(0.05, NOW - 86_400_000, NOW)).toBeCloseTo(0.8);
    expect(budgetEnd(30, 60, first, NOW)).toBe(Date.parse('2026-11-21T00:00:00Z'));
  });

  it('tells when a budget ends, unless it lasts or has ended', () => {
    expect(budgetEnd(30, 40, LONG_AGO, NOW)).toBe(Date.parse('2026-11-21T00:00:00Z'));
    expect(budgetEnd(30, 60, LONG_AGO, NOW)).toBeUndefined();
    expect(budgetEnd(40, 40, LONG_AGO, NOW)).toBeUndefined();
  });
});

import { budgetEnd, monthForecast } from './forecast.ts';

const NOW = Date.parse('2026-11-16T00:00:00Z');

describe('forecasts', () => {
  it('goes on as the month began, and says nothing on its first day', () => {
    expect(monthForecast(30, NOW)).toBe(60);
    expect(monthForecast(30, Date.parse('2026-11-01T23:00:00Z'))).toBeUndefined();
  });

  it('tells when a budget ends, unless it lasts or has ended', () => {
    expect(budgetEnd(30, 40, NOW)).toBe(Date.parse('2026-11-21T00:00:00Z'));
    expect(budgetEnd(30, 60, NOW)).toBeUndefined();
    expect(budgetEnd(40, 40, NOW)).toBeUndefined();
  });
});

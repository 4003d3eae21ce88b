import { currencySign, duration, fromNow, money } from './format.ts';

it.each([
  [10_000, 'just now'],
  [-3 * 60_000, '3 minutes ago'],
  [-26 * 3_600_000, 'yesterday'],
  [2 * 86_400_000, 'in 2 days'],
])('says a time that is %d ms away as "%s"', (away, text) => {
  const now = Date.parse('2026-11-21T12:00:00Z');
  expect(fromNow(new Date(now + away).toISOString(), now)).toBe(text);
});

it.each([
  [850, '850 ms'],
  [12_400, '12.4 s'],
  [200_000, '3 min 20 s'],
])('says %d ms as "%s"', (milliseconds, text) => {
  expect(duration(milliseconds)).toBe(text);
});

it.each([
  ['USD', '$'],
  ['EUR', '€'],
  ['CHF', 'CHF\u00a0'],
])('begins amounts in %s with "%s"', (currency, sign) => {
  expect(currencySign(currency)).toBe(sign);
});

it('shows small amounts whole and unknown ones as a dash', () => {
  expect(money({ amount: '0.040000', currency: 'USD' })).toBe('$0.04');
  expect(money({ amount: '0.000125', currency: 'USD' })).toBe('$0.000125');
  expect(money({ amount: null, currency: 'USD' })).toBe('–');
  expect(money(null)).toBe('–');
});

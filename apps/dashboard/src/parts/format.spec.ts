import { clockSpan, currencySign, duration, fromNow, money, shortPrompt, spent, unpriced } from './format.ts';

it.each([
  [10_000, 'just now'],
  [-3 * 60_000, '3 minutes ago'],
  [-26 * 3_600_000, 'yesterday'],
  [2 * 86_400_000, 'in 2 days'],
  [24 * 3_600_000 - 500, 'in 24 hours'],
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
  [999, '0 s'],
  [42_900, '42 s'],
  [200_000, '3 min 20 s'],
  [3_900_000, '1 h 5 min'],
])('says on a clock that %d ms have passed as "%s"', (milliseconds, text) => {
  expect(clockSpan(milliseconds)).toBe(text);
});

it.each([
  ['USD', '$'],
  ['EUR', '€'],
  ['CHF', 'CHF\u00a0'],
])('begins amounts in %s with "%s"', (currency, sign) => {
  expect(currencySign(currency)).toBe(sign);
});

it('shows small amounts whole, and tells free from unknown', () => {
  expect(money({ amount: '0.040000', currency: 'USD' })).toBe('$0.04');
  expect(money({ amount: '0.000125', currency: 'USD' })).toBe('$0.000125');
  expect(money({ amount: null, currency: 'USD' })).toBe('Unknown');
  expect(money(null)).toBe('Free');
  expect(money({ amount: '0.000000', currency: 'USD', state: 'refunded' })).toBe('Not charged');
});

it.each([
  ['1.200000', 3, 0, '$1.20', '3 images without a price'],
  ['1.200000', 0, 0, '$1.20', ''],
  ['0.000000', 0, 0, '$0.00', ''],
  ['0.000000', 1, 0, 'Unknown', '1 image without a price'],
  ['0.000000', 0, 1, 'Unknown', '1 chat without a price'],
  ['0.040000', 1_000, 2, '$0.04', '1,000 images and 2 chats without a price'],
])(
  'says what a sum of %s with %d images and %d chats without a price leaves out',
  (amount, images, chats, sum, rest) => {
    const spend = { amount, currency: 'USD', unpriced_images: images, unpriced_chats: chats };
    expect([spent(spend), unpriced(spend)]).toEqual([sum, rest]);
  },
);

it.each([
  ['A red boat', 'A red boat'],
  ['  A red boat\n\non a   lake ', 'A red boat on a lake'],
  [
    'A lighthouse in the fog, film photograph, at dawn, seen from the sea',
    'A lighthouse in the fog, film photograph, at dawn, seen from…',
  ],
  ['🦊'.repeat(80), `${'🦊'.repeat(60)}…`],
  [' \n', ''],
])('names the task of %j by %j', (prompt, name) => {
  expect(shortPrompt(prompt)).toBe(name);
});

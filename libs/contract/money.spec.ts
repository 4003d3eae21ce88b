import { costView } from './cost-view.js';
import { decimalOf, microsOf } from './money.js';

describe('amounts of money', () => {
  it.each([
    [0, '0.000000'],
    [1, '0.000001'],
    [40_000, '0.040000'],
    [12_500_000, '12.500000'],
    [999_999_999_999_999, '999999999.999999'],
  ])('%d millionths are %s', (micros, text) => {
    expect(decimalOf(micros)).toBe(text);
    expect(microsOf(text)).toBe(micros);
  });

  it.each(['', '-1', '1,5', '1e3', '0.0000001', '1234567890', '.5', '1.', ' 1'])('cannot be read from %j', (text) => {
    expect(microsOf(text)).toBeUndefined();
  });

  it('may be written short', () => {
    expect(microsOf('25')).toBe(25_000_000);
    expect(microsOf('0.5')).toBe(500_000);
  });
});

describe('the cost of a task', () => {
  const cost = { reserved: 40_000, currency: 'USD' };

  it.each([
    ['pending', cost, { amount: '0.040000', state: 'reserved' }],
    ['completed', { ...cost, settled: 30_500 }, { amount: '0.030500', state: 'settled' }],
    ['failed', { ...cost, settled: 0 }, { amount: '0.000000', state: 'refunded' }],
    ['cancelled', { ...cost, settled: 0 }, { amount: '0.000000', state: 'refunded' }],
    ['cancelled', { ...cost, settled: 40_000 }, { amount: '0.040000', state: 'settled' }],
    ['cancelled', { ...cost, reserved: null, settled: null }, { amount: null, state: 'unpriced' }],
    ['cancelled', { ...cost, reserved: null, settled: 0 }, { amount: '0.000000', state: 'refunded' }],
    ['pending', { ...cost, reserved: null }, { amount: null, state: 'unpriced' }],
    ['completed', { ...cost, reserved: null, settled: null }, { amount: null, state: 'unpriced' }],
    ['failed', { ...cost, reserved: null, settled: 0 }, { amount: '0.000000', state: 'refunded' }],
    ['completed', { ...cost, reserved: null, settled: 30_500 }, { amount: '0.030500', state: 'settled' }],
    [
      'completed',
      { ...cost, settled: 151, tokenCosts: { output: { tokens: 5, amount: 150 }, input: { tokens: 1, amount: 1 } } },
      {
        ...{ amount: '0.000151', state: 'settled' },
        token_costs: [
          { class: 'input', tokens: 1, amount: '0.000001' },
          { class: 'output', tokens: 5, amount: '0.000150' },
        ],
      },
    ],
  ])('that is %s: %j', (status, given, view) => {
    expect(costView(status, given)).toEqual({ ...view, currency: 'USD' });
  });
});

import { priceText, quoteText } from './quote.ts';

const cost = (amount: string | null, exact = true) => ({ amount, currency: 'USD', exact });
const quote = (amount: string | null, seconds?: number) => ({
  cost: cost(amount),
  within_budget: true,
  budget_left: null,
  ...(seconds === undefined ? {} : { estimated_time: seconds }),
});

describe('what an order says before it is made', () => {
  it('is its price and its time, also where one of them is not known', () => {
    expect(quoteText(quote('0.040000', 8))).toBe('$0.04 · about 8 s');
    expect(quoteText(quote('0.000000', 1))).toBe('free · about 1 s');
    expect(quoteText(quote(null, 1))).toBe('price unknown · about 1 s');
    expect(quoteText(quote(null))).toBe('price unknown');
    expect(quoteText(undefined)).toBe('');
  });

  it('is a sum only where every price is known', () => {
    expect(priceText([cost('0.1'), cost('0.2')])).toBe('$0.30');
    expect(priceText([cost('0.1'), cost('0.2', false)])).toBe('up to $0.30');
    expect(priceText([cost('0.1'), cost(null)])).toBe('price unknown');
  });
});

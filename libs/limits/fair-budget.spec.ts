import fc from 'fast-check';
import { FairBudget } from './fair-budget.js';

describe('FairBudget', () => {
  it('H1: one source gets half, and whoever comes next still something', () => {
    const budget = new FairBudget(800);
    expect(budget.most).toBe(400);
    expect([budget.tryReserve(401, 'one'), budget.tryReserve(400, 'one'), budget.tryReserve(1, 'one')]).toEqual([
      false,
      true,
      false,
    ]);
    expect([budget.tryReserve(201, 'two'), budget.tryReserve(200, 'two'), budget.tryReserve(100, 'three')]).toEqual([
      false,
      true,
      true,
    ]);
    budget.release(400, 'one');
    expect([budget.held, budget.heldBy('one')]).toEqual([300, 0]);
  });

  it('counts what is there already, so that others wait; nothing always fits', () => {
    const budget = new FairBudget(100);
    budget.add(90, 'one');
    expect([budget.fits(0, 'one'), budget.fits(1, 'one'), budget.fits(5, 'two'), budget.fits(6, 'two')]).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });

  it('never gives more than its limit, to one source never more than half, and has nothing left over', () => {
    const step = fc.record({ source: fc.constantFrom('a', 'b', 'c'), amount: fc.integer({ min: 0, max: 700 }) });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const budget = new FairBudget(1_000);
        const taken = steps.filter(({ source, amount }) => {
          const fits = budget.tryReserve(amount, source);
          expect(budget.held).toBeLessThanOrEqual(budget.limit);
          expect(budget.heldBy(source)).toBeLessThanOrEqual(budget.most);
          return fits;
        });
        for (const { source, amount } of taken) budget.release(amount, source);
        expect([budget.held, budget.heldBy('a'), budget.heldBy('b')]).toEqual([0, 0, 0]);
      }),
    );
  });
});

import { batched } from './batched.js';

/** An error as the driver throws it for an answer of Postgres. */
function refusal(code: string): Error {
  return Object.assign(new Error(code), { code });
}

/** Statements that end when the test says so, by the items they were given. */
function statements() {
  const sent: { items: readonly { n: number }[]; end: (failure?: Error) => void }[] = [];
  let heard: (() => void) | undefined;
  const commit = async (items: readonly { n: number }[]): Promise<number[]> =>
    new Promise((resolve, reject) => {
      const end = (failure?: Error): void => {
        if (failure === undefined) resolve(items.map(({ n }) => 10 * n));
        else reject(failure);
      };
      sent.push({ items, end });
      heard?.();
    });
  /** The nth statement, from 0, once it is sent. */
  const at = async (index: number) => {
    while (sent[index] === undefined) await new Promise<void>((resolve) => (heard = resolve));
    return sent[index];
  };
  const sizes = (): number[] => sent.map(({ items }) => items.length);
  return { write: batched(commit), at, sizes };
}

describe('batched', () => {
  it('sends what comes alone at once, and together what comes while that is on its way', async () => {
    const { write, at, sizes } = statements();
    const first = write({ n: 1 });
    const statement = await at(0);
    const others = [2, 3, 4].map(async (n) => write({ n }));
    statement.end();
    expect(await first).toBe(10);
    (await at(1)).end();
    expect(await Promise.all(others)).toEqual([20, 30, 40]);
    expect(sizes()).toEqual([1, 3]);
  });

  it('sends together what comes in one turn of the event loop', async () => {
    const { write, at, sizes } = statements();
    const all = [1, 2, 3].map(async (n) => write({ n }));
    (await at(0)).end();
    expect(await Promise.all(all)).toEqual([10, 20, 30]);
    expect(sizes()).toEqual([3]);
  });

  it('lets no statement that waits for a lock hold up the next one for long', async () => {
    const { write, at } = statements();
    const stuck = write({ n: 1 });
    const statement = await at(0);
    const next = write({ n: 2 });
    (await at(1)).end();
    expect(await next).toBe(20);
    statement.end();
    expect(await stuck).toBe(10);
  });

  it('sends each alone again when Postgres refused them together, so that only what is wrong fails', async () => {
    const { write, at, sizes } = statements();
    const all = [1, 2, 3].map(async (n) => write({ n }));
    (await at(0)).end(refusal('22P05'));
    (await at(1)).end();
    (await at(2)).end(refusal('22P05'));
    (await at(3)).end();
    const outcomes = await Promise.allSettled(all);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(sizes()).toEqual([3, 1, 1, 1]);
  });

  it('divides a refused statement rather than send as many as it has items', async () => {
    const { write, at, sizes } = statements();
    const all = Array.from({ length: 16 }, async (_, n) => write({ n }));
    (await at(0)).end(refusal('23514'));
    (await at(1)).end(refusal('23514'));
    for (const n of [2, 3, 4]) (await at(n)).end();
    for (const n of [5, 6, 7, 8]) (await at(n)).end(...(n === 5 ? [refusal('23514')] : []));
    const outcomes = await Promise.allSettled(all);
    expect(outcomes.flatMap(({ status }, n) => (status === 'rejected' ? [n] : []))).toEqual([0]);
    expect(sizes()).toEqual([16, 4, 4, 4, 4, 1, 1, 1, 1]);
  });

  it.each([['57P01'], ['08006'], ['40003'], ['ECONNRESET'], [undefined]])(
    'sends nothing again after %s, which does not say whether it was written',
    async (code) => {
      const { write, at, sizes } = statements();
      const all = [1, 2].map(async (n) => write({ n }));
      (await at(0)).end(code === undefined ? new Error('Connection terminated unexpectedly') : refusal(code));
      const outcomes = await Promise.allSettled(all);
      expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
      expect(sizes()).toEqual([2]);
    },
  );
});

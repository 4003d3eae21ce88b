import { jest } from '@jest/globals';
import { Unanswered } from './unanswered.js';

/** More than the time between two tries, and more than the time for which a statement may be late. */
const A_TRY_MS = 600;
const LATE_MS = 301_000;

describe('unanswered statements', () => {
  let sent: (readonly string[])[];
  let away: boolean;
  let done: readonly string[];
  let failures: number;
  let list: Unanswered<string>;
  beforeEach(() => {
    jest.useFakeTimers();
    [sent, away, done, failures] = [[], false, [], 0];
    list = new Unanswered(
      async (items) => {
        sent.push(items);
        if (away) throw new Error('away');
        return Promise.resolve(done);
      },
      () => failures++,
    );
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('are repeated until the database answers, and then until no late one can arrive', async () => {
    away = true;
    list.add('a');
    await jest.advanceTimersByTimeAsync(3 * LATE_MS);
    expect(failures).toBe(sent.length);
    expect(list.has('a')).toBe(true);
    away = false;
    await jest.advanceTimersByTimeAsync(A_TRY_MS);
    expect(list.has('a')).toBe(true);
    await jest.advanceTimersByTimeAsync(LATE_MS);
    expect(list.has('a')).toBe(false);
    const before = sent.length;
    await jest.advanceTimersByTimeAsync(LATE_MS);
    expect(sent).toHaveLength(before);
  });

  it('are forgotten when they are done', async () => {
    list.add('a');
    list.add('b');
    done = ['a'];
    await jest.advanceTimersByTimeAsync(A_TRY_MS);
    expect([list.has('a'), list.has('b')]).toEqual([false, true]);
    expect(sent).toEqual([['a', 'b']]);
  });

  it('are repeated at once for those who need the answer, if there was none yet', async () => {
    await list.repeatNow();
    expect(sent).toEqual([]);
    away = true;
    list.add('a');
    await expect(list.repeatNow()).rejects.toThrow('away');
    away = false;
    list.add('b');
    await list.repeatNow((item) => item === 'b');
    expect(sent).toEqual([['a'], ['b']]);
    await list.repeatNow();
    await list.repeatNow();
    expect(sent).toEqual([['a'], ['b'], ['a']]);
  });

  it('are tried a last time at the end', async () => {
    away = true;
    list.add('a');
    await list.stop();
    expect([sent, failures]).toEqual([[['a']], 1]);
    await jest.advanceTimersByTimeAsync(LATE_MS);
    expect(sent).toHaveLength(1);
  });

  it('are at most so many, and repeated so many at once', async () => {
    for (let n = 0; n <= 100_000; n++) list.add(String(n));
    expect([list.has('0'), list.has('1'), list.has('100000')]).toEqual([false, true, true]);
    await list.repeatNow();
    expect(new Set(sent.map(({ length }) => length))).toEqual(new Set([200]));
  });
});

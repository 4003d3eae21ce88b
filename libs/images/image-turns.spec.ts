import { BACKGROUND, ImageTurns } from './image-turns.js';

const MEGAPIXEL = 1_000_000;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Turns whose work ends when the test says so, and the order in which it began. */
function stand(slots: number) {
  const turns = new ImageTurns(slots);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    work(name: string, pixels = MEGAPIXEL, signal?: AbortSignal): Promise<string> {
      const [source = '', ticket = ''] = name.split(' ');
      const action = async (): Promise<string> => {
        begun.push(name);
        await new Promise<void>((resolve) => ends.set(name, resolve));
        return name;
      };
      return turns.run(action, { owner: { source, ticket }, pixels, signal });
    },
    /** Ends the work that has begun until nothing is left, one after the other. */
    async endAll(): Promise<void> {
      for (;;) {
        await turn();
        const [next] = ends;
        if (next === undefined) return;
        ends.delete(next[0]);
        next[1]();
      }
    },
  };
}

describe('ImageTurns', () => {
  it('give work in the background a slot only while no other work waits', async () => {
    const { begun, work, endAll } = stand(1);
    const all = [work('a 1'), work(`${BACKGROUND} 1`), work(`${BACKGROUND} 2`), work('a 2'), work('b 1')];
    await turn();
    // Also what comes later goes first.
    all.push(work('c 1'));
    await endAll();
    await Promise.all(all);
    expect(begun).toEqual(['a 1', 'b 1', 'c 1', 'a 2', `${BACKGROUND} 1`, `${BACKGROUND} 2`]);
  });

  it('H2: an account with one image waits for one image of another account, not for all of its hundred', async () => {
    const { begun, work, endAll } = stand(1);
    const all = Array.from({ length: 100 }, (_, n) => work(`flood ${n}`, 12 * MEGAPIXEL));
    all.push(work('plain 1'));
    await endAll();
    await Promise.all(all);
    expect(begun.indexOf('plain 1')).toBe(1);
  });

  it('H2: pixels count, not images: an account of small images gets as many pixels as one of large images', async () => {
    const { begun, work, endAll } = stand(1);
    const large = Array.from({ length: 4 }, (_, n) => work(`large ${n}`, 10 * MEGAPIXEL));
    const small = Array.from({ length: 12 }, (_, n) => work(`small ${n + 10}`));
    await endAll();
    await Promise.all([...large, ...small]);
    // Each of the large ones costs as much as eight of the small ones with what any work costs.
    expect(begun.slice(0, 10)).toEqual(['large 0', ...Array.from({ length: 9 }, (_, n) => `small ${n + 10}`)]);
  });

  it('H2: a task of an account ends before the next one begins, instead of all of them at the end', async () => {
    const { begun, work, endAll } = stand(1);
    const first = work('a 3');
    const later = ['a 2', 'a 1', 'a 2', 'a 1'].map((name) => work(name));
    await endAll();
    await Promise.all([first, ...later]);
    expect(begun).toEqual(['a 3', 'a 1', 'a 1', 'a 2', 'a 2']);
  });

  it('works on one large image at a time, of accounts in turns, and on small ones beside it', async () => {
    const { begun, work, endAll } = stand(3);
    const all = [work('a 1', 64 * MEGAPIXEL), work('a 2', 64 * MEGAPIXEL), work('b 1', 64 * MEGAPIXEL), work('c 1')];
    await turn();
    expect(begun).toEqual(['a 1', 'c 1']);
    await endAll();
    await Promise.all(all);
    expect(begun).toEqual(['a 1', 'c 1', 'b 1', 'a 2']);
  });

  it('an account saves no turns while it has no work', async () => {
    const { begun, work, endAll } = stand(1);
    const busy = Array.from({ length: 3 }, (_, n) => work(`busy ${n}`));
    await endAll();
    const more = [work('busy 3'), work('busy 4'), work('idle 1'), work('idle 2'), work('idle 3')];
    await endAll();
    await Promise.all([...busy, ...more]);
    expect(begun.slice(3)).toEqual(['busy 3', 'idle 1', 'busy 4', 'idle 2', 'idle 3']);
  });

  it('keeps no turn for work that was aborted before it began', async () => {
    const { begun, work, endAll } = stand(1);
    const first = work('a 1');
    const gone = new AbortController();
    const left = work('a 2', MEGAPIXEL, gone.signal);
    const next = work('a 3');
    const reason = new Error('canceled');
    gone.abort(reason);
    await expect(left).rejects.toBe(reason);
    await endAll();
    await Promise.all([first, next]);
    expect(begun).toEqual(['a 1', 'a 3']);
  });
});

import fc from 'fast-check';
import { FairSemaphore, type SemaphoreBounds } from './fair-semaphore.js';

const BOUNDS: SemaphoreBounds = { places: 2, placesOfOne: 2, waiting: 100, waitingOfOne: 100, waitMs: Infinity };

class Refused extends Error {}

function semaphore(bounds: Partial<SemaphoreBounds> = {}): FairSemaphore {
  return new FairSemaphore({ ...BOUNDS, ...bounds }, (why) => new Refused(why));
}

/** Who has begun, in order, and how to end the oldest of them. */
function queueOf(places: FairSemaphore) {
  const begun: string[] = [];
  const leaves: (() => void)[] = [];
  return {
    begun,
    come: (source: string, signal?: AbortSignal) =>
      places.wait(source, signal).then((leave) => {
        begun.push(source);
        leaves.push(leave);
      }),
    end: async () => {
      leaves.shift()?.();
      await Promise.resolve();
      await new Promise(setImmediate);
    },
  };
}

describe('FairSemaphore', () => {
  it('gives sources turns, and the first of a source its first place', async () => {
    const { begun, come, end } = queueOf(semaphore({ places: 1 }));
    for (const source of ['a', 'a', 'a', 'b', 'b', 'c']) void come(source);
    for (let count = 0; count < 6; count++) await end();
    expect(begun).toEqual(['a', 'b', 'c', 'a', 'b', 'a']);
  });

  it('lets others pass a source that has as many as it may', async () => {
    const { begun, come, end } = queueOf(semaphore({ places: 2, placesOfOne: 1 }));
    for (const source of ['a', 'a', 'b', 'c']) void come(source);
    await new Promise(setImmediate);
    expect(begun).toEqual(['a', 'b']);
    await end();
    await end();
    expect(begun).toEqual(['a', 'b', 'c', 'a']);
  });

  it('refuses what exceeds a bound, by its reason', async () => {
    const places = semaphore({ places: 1, waiting: 2, waitingOfOne: 1 });
    void places.wait('a');
    void places.wait('a');
    await expect(places.wait('a')).rejects.toThrow('source');
    void places.wait('b');
    await expect(places.wait('c')).rejects.toThrow('all');
    expect(() => places.enter('d')).toThrow('all');
    const own = semaphore({ placesOfOne: 1 });
    const leave = own.enter('a');
    expect(() => own.enter('a')).toThrow('source');
    leave();
    leave();
    expect(own.enter('a')).toBeInstanceOf(Function);
    expect(own.enter('b')).toBeInstanceOf(Function);
    expect(() => own.enter('c')).toThrow('all');
  });

  it('forgets who gives up', async () => {
    const places = semaphore({ places: 1 });
    const { begun, come, end } = queueOf(places);
    void come('a');
    const gone = new AbortController();
    const given = come('b', gone.signal);
    void come('c');
    gone.abort();
    await expect(given).rejects.toThrow('late');
    await expect(come('d', AbortSignal.abort())).rejects.toThrow('late');
    await end();
    expect(begun).toEqual(['a', 'c']);
    await expect(semaphore({ places: 0, waitMs: 1 }).wait('a')).rejects.toThrow('late');
  });

  it('never gives more than its places, and loses none', async () => {
    const step = fc.oneof(fc.constantFrom('a', 'b', 'c'), fc.constant('end'));
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const places = semaphore({ places: 3, placesOfOne: 2 });
        const { begun, come, end } = queueOf(places);
        let ended = 0;
        let came = 0;
        for (const one of steps) {
          if (one !== 'end') {
            void come(one);
            came++;
            await Promise.resolve();
          } else if (begun.length > ended) {
            ended++;
            await end();
          }
          expect(begun.length - ended).toBeLessThanOrEqual(3);
        }
        while (begun.length > ended || ended < came) {
          ended++;
          await end();
        }
        expect([begun.length, came]).toEqual([came, ended]);
      }),
      { numRuns: 50 },
    );
  });
});

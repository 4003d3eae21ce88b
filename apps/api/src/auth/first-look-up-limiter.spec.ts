import { FirstLookUpLimiter, type FirstLookUpLimits } from './first-look-up-limiter.js';

const LIMITS: FirstLookUpLimits = { maxConcurrent: 2, maxPerNetwork: 50, maxWaiting: 70, maxWaitMs: 60_000 };
const FLOOD = '203.0.113.7';

/** Look-ups that end when the test says so. */
class LookUps {
  readonly begun: string[] = [];
  private readonly ends: (() => void)[] = [];

  readonly of = (name: string) => (): Promise<string> => {
    this.begun.push(name);
    return new Promise((resolve) =>
      this.ends.push(() => {
        resolve(name);
      }),
    );
  };

  async endFirst(): Promise<void> {
    this.ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('the limiter of first lookups', () => {
  const refusal = (run: Promise<unknown>): Promise<unknown> =>
    run.then(
      () => 'admitted',
      (error: unknown) => (error as { code: string }).code,
    );

  it('M4: takes one look-up of a network at a time, a few in all, and networks take turns', async () => {
    const limiter = new FirstLookUpLimiter(LIMITS);
    const lookUps = new LookUps();
    const flood = Array.from({ length: 40 }, (_, n) => limiter.run(FLOOD, lookUps.of(`flood ${n}`)));
    const others = ['198.51.100.1', '198.51.100.2'].map((address) => limiter.run(address, lookUps.of(address)));
    await Promise.resolve();
    expect(lookUps.begun).toEqual(['flood 0', '198.51.100.1']);
    await lookUps.endFirst();
    expect(lookUps.begun.slice(2)).toEqual(['198.51.100.2']);
    await lookUps.endFirst();
    expect(lookUps.begun.slice(3)).toEqual(['flood 1']);
    for (let n = 0; n < 42; n++) await lookUps.endFirst();
    expect(await Promise.all(others)).toEqual(['198.51.100.1', '198.51.100.2']);
    expect((await Promise.all(flood)).at(-1)).toBe('flood 39');
  });

  it('M4: counts all addresses of an IPv6 network as one', async () => {
    const limiter = new FirstLookUpLimiter(LIMITS);
    const lookUps = new LookUps();
    const runs = ['2001:db8::1', '2001:db8::2:1'].map((address) => limiter.run(address, lookUps.of(address)));
    await Promise.resolve();
    expect(lookUps.begun).toHaveLength(1);
    await lookUps.endFirst();
    await lookUps.endFirst();
    await Promise.all(runs);
  });

  it('M4: refuses a network whose line is full, and others only when all lines together are', async () => {
    const limiter = new FirstLookUpLimiter(LIMITS);
    const lookUps = new LookUps();
    const admitted = Array.from({ length: 51 }, (_, n) => limiter.run(FLOOD, lookUps.of(`flood ${n}`)));
    expect(await refusal(limiter.run(FLOOD, lookUps.of('one more')))).toBe('rate_limit_exceeded');
    for (let n = 1; n <= 21; n++) admitted.push(limiter.run(`198.51.100.${n}`, lookUps.of(`other ${n}`)));
    expect(await refusal(limiter.run('198.51.100.99', lookUps.of('one too many')))).toBe('server_is_overloaded');
    for (let n = 0; n < 72; n++) await lookUps.endFirst();
    expect(await Promise.all(admitted)).toHaveLength(72);
    expect(lookUps.begun).toHaveLength(72);
  });

  it('M4: lets nobody wait without end, and goes on after a look-up that failed', async () => {
    const limiter = new FirstLookUpLimiter({ ...LIMITS, maxWaitMs: 20 });
    const lookUps = new LookUps();
    const first = limiter.run(FLOOD, lookUps.of('slow'));
    const second = limiter.run(FLOOD, lookUps.of('never'));
    expect(await refusal(second)).toBe('server_is_overloaded');
    await lookUps.endFirst();
    expect(await first).toBe('slow');
    await expect(limiter.run(FLOOD, () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(await limiter.run(FLOOD, () => Promise.resolve('back'))).toBe('back');
    expect(lookUps.begun).toEqual(['slow']);
  });
});

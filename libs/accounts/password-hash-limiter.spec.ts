import { AppError } from '#contract/app-error.js';
import { PasswordHashLimiter } from './password-hash-limiter.js';

/** Work that ends when it is told to, and what is known of it. */
class Bench {
  readonly begun: string[] = [];
  readonly refused: string[] = [];
  atOnce = 0;
  most = 0;
  private readonly ends: (() => void)[] = [];

  constructor(private readonly places: PasswordHashLimiter) {}

  come(network: string, times = 1): void {
    for (let count = 0; count < times; count++) {
      this.places
        .run(network, () => {
          this.begun.push(network);
          this.most = Math.max(this.most, ++this.atOnce);
          return new Promise<void>((resolve) => this.ends.push(resolve)).finally(() => this.atOnce--);
        })
        .catch((error: unknown) => {
          expect(error).toBeInstanceOf(AppError);
          expect(error).toMatchObject({ code: 'server_is_overloaded', retryAfter: expect.any(Number) });
          this.refused.push(network);
        });
    }
  }

  /** Ends all work, one after the other, and what begins after it. */
  async drain(): Promise<void> {
    for (;;) {
      await new Promise(setImmediate);
      const end = this.ends.shift();
      if (end === undefined) return;
      end();
    }
  }
}

describe('PasswordHashLimiter', () => {
  it('600 attempts at once: hashes two at a time, lets 128 wait, and turns the others away at once', async () => {
    const bench = new Bench(new PasswordHashLimiter());
    for (let network = 0; network < 30; network++) bench.come(`network ${network}`, 20);
    await new Promise(setImmediate);
    expect([bench.begun.length, bench.refused.length]).toEqual([2, 600 - 130]);
    await bench.drain();
    expect([bench.begun.length, bench.most]).toEqual([130, 2]);
    bench.come('later');
    await bench.drain();
    expect(bench.begun).toHaveLength(131);
  });

  it('lets no network wait with more than its share, and gives networks turns', async () => {
    const bench = new Bench(new PasswordHashLimiter(1, 100, 4));
    bench.come('guesser', 20);
    bench.come('office', 2);
    bench.come('home');
    await bench.drain();
    expect(bench.refused).toHaveLength(15);
    expect(bench.begun.join(' ')).toBe('guesser office home guesser office guesser guesser guesser');
  });

  it('returns the place when the work fails', async () => {
    const places = new PasswordHashLimiter(1, 0, 0);
    await expect(places.run('a', () => Promise.reject(new Error('oh')))).rejects.toThrow('oh');
    await expect(places.run('a', () => Promise.resolve('done'))).resolves.toBe('done');
  });
});

import { RedisConfig } from '#redis/redis.config.js';
import { waitUntil } from '#embedded/wait-until.js';
import { SignInLimits } from '../../apps/api/src/console/sign-in/sign-in-limits.js';
import { AttemptLimiter } from '#limits/attempt-limiter.js';
import { RateCounter } from '#limits/rate-counter.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { createTestRedis } from '../support/redis.js';
import { openTaskRoom, type TaskRoom } from '../support/task-room.js';

const WINDOW_SECONDS = 2;

describe('the limits of signing in, with windows of two seconds', () => {
  let line: FaultProxy;
  let room: TaskRoom;
  let limits: SignInLimits;
  beforeAll(async () => {
    line = await FaultProxy.start(createTestRedis().url);
    // No test makes Redis hang.
    room = await openTaskRoom(line.url, 20_000);
  });
  beforeEach(() => {
    limits = limitsOf(WINDOW_SECONDS);
  });
  afterAll(async () => {
    line.fault = 'pass';
    await room.close();
    await line.close();
  });

  const limitsOf = (windowSeconds: number): SignInLimits => {
    const config = { ...new RedisConfig(), redisPrefix: room.prefix };
    return new SignInLimits(new AttemptLimiter(new RateCounter(room.redis, config), windowSeconds));
  };
  const admitted = (email: string, from = '203.0.113.1'): Promise<boolean> =>
    limits.admit(from, email).then(
      () => true,
      () => false,
    );

  it.each<['pass' | 'reset', number]>([
    ['pass', 10],
    ['reset', 5],
  ])('end with their window: %s, %i attempts', async (fault, allowed) => {
    line.fault = fault;
    let email = '';
    let answers: boolean[] = [];
    // On a busy machine the window may end in between: then once more, with another address.
    const isWithinWindow = async (): Promise<boolean> => {
      const began = performance.now();
      [email, answers] = [`${fault}-${began}@example.org`, []];
      for (let attempt = 0; attempt < allowed + 2; attempt++) answers.push(await admitted(email));
      return performance.now() - began < WINDOW_SECONDS * 1_000;
    };
    expect(await waitUntil(isWithinWindow, { timeoutMs: 60_000 })).toBe(true);
    expect(answers).toEqual([...Array<boolean>(allowed).fill(true), false, false]);
    // Asking again and again does not make it longer.
    expect(await waitUntil(() => admitted(email), { timeoutMs: WINDOW_SECONDS * 3_000, everyMs: 100 })).toBe(true);
  });

  it.each<['pass' | 'reset', number, number]>([
    ['pass', 10, 50],
    ['reset', 5, 25],
  ])(
    'keep a person out from where somebody guesses, not from elsewhere, up to a bound: %s',
    async (fault, there, all) => {
      line.fault = fault;
      const away = (): Promise<boolean> =>
        room.redis.ping().then(
          () => false,
          () => true,
        );
      expect(await waitUntil(async () => (await away()) === (fault === 'reset'), { timeoutMs: 20_000 })).toBe(true);
      // A window that does not end meanwhile.
      const long = limitsOf(600);
      const tries = async (from: string, count: number): Promise<number> => {
        let good = 0;
        for (let attempt = 0; attempt < count; attempt++) {
          good += await long.admit(from, `guessed-${fault}@example.org`).then(
            () => 1,
            () => 0,
          );
        }
        return good;
      };
      expect(await tries('198.51.100.1', there + 40)).toBe(there);
      expect(await tries('198.51.100.2', 1)).toBe(1);
      // Guesses that were turned away count for nobody else; those of many networks do.
      let good = there + 1;
      for (let network = 3; network < 20; network++) good += await tries(`198.51.100.${network}`, there);
      expect(good).toBe(all);
      expect(await tries('198.51.100.100', 1)).toBe(0);
    },
  );
});

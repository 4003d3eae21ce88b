import { PassThrough } from 'node:stream';
import type { Redis } from 'ioredis';
import { loadConfig } from '#config/load-config.js';
import { CallCounter, type EndedCall } from '#routing/call-counter.js';
import { CallHistory, totalsOf } from '#routing/call-history.js';
import { RedisConfig } from '#redis/redis.config.js';
import { Logger } from '#telemetry/logger.js';
import { openLimiterRoom, type LimiterRoom } from '../support/limiter-room.js';

const ONE = { name: 'pool', server: 'one' };
const TWO = { name: 'pool', server: 'two' };
const SOLE = { name: 'sole' };
const FAILURE = { code: 'upstream_error', status: 503, providerMessage: 'Overloaded.' } as const;

describe('the history of calls to providers', () => {
  let room: LimiterRoom;
  beforeEach(async () => {
    room = await openLimiterRoom();
  });
  afterEach(() => room.close());

  const history = (redis: Redis = room.redis): CallHistory => {
    const [config] = loadConfig([RedisConfig], { REDIS_URL: room.redisUrl, REDIS_PREFIX: room.prefix });
    return new CallHistory(redis, config);
  };
  const counter = (redis?: Redis): CallCounter =>
    new CallCounter(history(redis), new Logger('test', 'info', new PassThrough()));
  const call = (
    server: EndedCall['server'],
    ending: EndedCall['ending'],
    more: Partial<EndedCall> = {},
  ): EndedCall => ({
    ...{ server, ending, model: 'm', ms: 100 },
    ...(ending === 'failed' && { failure: FAILURE }),
    ...more,
  });

  it('is the same for all processes, and has each call of each of them once', async () => {
    const [first, second] = [counter(), counter()];
    first.ended(call(ONE, 'succeeded', { ms: 300 }));
    first.ended(call(ONE, 'succeeded'));
    first.ended(call(ONE, 'rejected'));
    second.ended(call(ONE, 'succeeded', { ms: 200, model: 'other' }));
    second.ended(call(TWO, 'rate_limited', { failure: { ...FAILURE, status: 429 } }));
    second.ended(call(TWO, 'timed_out', { failure: FAILURE }));
    second.ended(call(SOLE, 'canceled'));
    await Promise.all([first.report(), second.report()]);
    await first.report();
    const { minutes } = await history().read([]);
    expect(minutes).toHaveLength(60);
    expect(minutes.map(({ time }, index) => time - minutes[0]!.time - index * 60_000)).toEqual(Array(60).fill(0));
    const counts = minutes.flatMap((minute) => minute.counts);
    const none = { succeeded: 0, failed: 0, rateLimited: 0, timedOut: 0, rejected: 0, canceled: 0, averageMs: null };
    expect(totalsOf(counts.filter(({ server }) => server === 'one'))).toEqual({
      ...none,
      ...{ calls: 4, succeeded: 3, rejected: 1, averageMs: 200 },
    });
    expect(totalsOf(counts.filter(({ server }) => server === 'two'))).toEqual({
      ...none,
      ...{ calls: 2, failed: 2, rateLimited: 1, timedOut: 1 },
    });
    expect(counts.filter(({ provider }) => provider === 'sole')).toEqual([
      { provider: 'sole', model: 'm', ending: 'canceled', count: 1, ms: 100 },
    ]);
    expect(counts.filter(({ model }) => model === 'other')).toMatchObject([{ server: 'one', count: 1 }]);
  });

  it('knows how often a provider and each of its servers failed since its last success, and why', async () => {
    const [first, second] = [counter(), counter()];
    const runs = async () => {
      const found = (await history().read(['pool', 'pool/one', 'pool/two', 'never'])).runs;
      return [...found.values()].map(({ failures }) => failures);
    };
    first.ended(call(ONE, 'failed'));
    first.ended(call(ONE, 'failed'));
    await first.report();
    second.ended(call(TWO, 'failed'));
    // Says nothing about the provider.
    second.ended(call(TWO, 'rejected'));
    second.ended(call(TWO, 'canceled'));
    await second.report();
    expect(await runs()).toEqual([3, 2, 1, 0]);
    second.ended(call(TWO, 'failed'));
    second.ended(call(TWO, 'succeeded'));
    second.ended(call(TWO, 'failed', { failure: { ...FAILURE, providerMessage: 'Again.' } }));
    await second.report();
    expect(await runs()).toEqual([1, 2, 1, 0]);
    first.ended(call(ONE, 'succeeded'));
    await first.report();
    expect(await runs()).toEqual([0, 0, 1, 0]);
    // The last failure stays known after a success.
    const { runs: last } = await history().read(['pool', 'pool/one']);
    expect(last.get('pool')?.last).toEqual({
      ...{ ...FAILURE, providerMessage: 'Again.', model: 'm' },
      at: expect.any(Number),
    });
    expect(last.get('pool/one')?.last).toMatchObject({ providerMessage: 'Overloaded.' });
  });

  it('tells a failure before a success from one after it, whichever is reported first', async () => {
    const failure = { model: 'm', code: 'upstream_error' };
    let reports = 0;
    const report = (run: { failed?: [count: number, ageMs: number]; succeeded?: number }): Promise<void> => {
      const { failed: [failures, ageMs] = [0, 0], succeeded: succeededAgeMs } = run;
      const about = {
        ...{ of: 'sole', failures },
        ...(succeededAgeMs !== undefined && { succeededAgeMs }),
        ...(failures > 0 && { last: { failure: { ...failure, message: `${ageMs}` }, ageMs } }),
      };
      return history().add({ process: `p${reports++}`, number: 1 }, [], [about]);
    };
    const run = async () => {
      const { failures, last } = (await history().read(['sole'])).runs.get('sole')!;
      return [failures, last?.message];
    };
    await report({ succeeded: 600_000 });
    await report({ failed: [3, 900_000] });
    expect(await run()).toEqual([0, '900000']);
    await report({ failed: [3, 300_000] });
    await report({ failed: [2, 420_000] });
    expect(await run()).toEqual([5, '300000']);
    await report({ succeeded: 360_000 });
    expect(await run()).toEqual([1, '300000']);
    // An older success than the known one.
    await report({ succeeded: 500_000 });
    expect(await run()).toEqual([1, '300000']);
    await report({ succeeded: 120_000, failed: [2, 60_000] });
    expect(await run()).toEqual([2, '60000']);
    await report({ succeeded: 0 });
    expect(await run()).toEqual([0, '60000']);
  });

  it('counts a report once that arrived without an answer, and loses none while Redis is away', async () => {
    const lost = room.redis.duplicate();
    const own = counter(lost);
    const perform = lost.evalsha.bind(lost);
    let answers = false;
    // Redis does what it is told, but its answer is lost.
    const deaf = async (...parts: Parameters<typeof perform>): Promise<unknown> => {
      const answer = await perform(...parts);
      if (answers) return answer;
      throw new Error('Command timed out');
    };
    await history().add({ process: 'any', number: 1 }, [], []);
    lost.evalsha = deaf as typeof lost.evalsha;
    own.ended(call(SOLE, 'failed'));
    await own.report();
    own.ended(call(SOLE, 'failed'));
    await own.report();
    answers = true;
    await own.report();
    const { minutes, runs } = await history().read(['sole']);
    expect(totalsOf(minutes.flatMap(({ counts }) => counts))).toMatchObject({ calls: 2, failed: 2 });
    expect(runs.get('sole')?.failures).toBe(2);
    await own.onApplicationShutdown();
    lost.disconnect();
  });

  it('forgets what is older than an hour, and leaves no key that never expires', async () => {
    const counted = { provider: 'sole', model: 'm', ending: 'succeeded', count: 1, ms: 1 } as const;
    const old = [58, 61, 3_000].map((minutes) => ({ ...counted, ageMs: minutes * 60_000 }));
    await history().add(
      { process: 'any', number: 1 },
      [{ ...counted, ageMs: 0 }, ...old],
      [
        {
          of: 'sole',
          failures: 1,
          last: { failure: { model: 'm', code: 'upstream_error' }, ageMs: 5 },
        },
      ],
    );
    const { minutes } = await history().read([]);
    expect(minutes.flatMap(({ counts }) => counts)).toEqual(Array(2).fill(counted));
    const keys = await room.redis.keys(`${room.prefix}:provider-*`);
    expect(keys).toHaveLength(4);
    const left = await Promise.all(keys.map((key) => room.redis.pttl(key)));
    expect(Math.min(...left)).toBeGreaterThan(0);
    expect(Math.max(...left)).toBeLessThanOrEqual(86_400_000);
  });
});

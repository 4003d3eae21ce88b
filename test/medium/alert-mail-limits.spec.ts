import { waitUntil } from '#embedded/wait-until.js';
import { AttemptLimiter } from '#limits/attempt-limiter.js';
import { RateCounter } from '#limits/rate-counter.js';
import { RedisConfig } from '#redis/redis.config.js';
import { admitAlertMail, ALERT_MAIL_SECONDS } from '../../apps/worker/src/webhooks/alert-mails.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { createTestRedis } from '../support/redis.js';
import { openTaskRoom, type TaskRoom } from '../support/task-room.js';

// Real: Redis.
describe('the limits of alerts by email', () => {
  let line: FaultProxy;
  let room: TaskRoom;
  let limits: AttemptLimiter;
  beforeAll(async () => {
    line = await FaultProxy.start(createTestRedis().url);
    room = await openTaskRoom(line.url, 20_000);
  });
  afterAll(async () => {
    line.fault = 'pass';
    await room.close();
    await line.close();
  });

  const away = (): Promise<boolean> =>
    room.redis.ping().then(
      () => false,
      () => true,
    );
  /** How many of an account's emails to an address pass. */
  const passed = async (account: string, address: string, count: number): Promise<number> => {
    let good = 0;
    for (let mail = 0; mail < count; mail++) good += (await admitAlertMail(limits, account, address)) ? 1 : 0;
    return good;
  };

  it.each<['pass' | 'reset', number]>([
    ['pass', 1],
    ['reset', 1 / 2],
  ])('with Redis at %s: their share is %d', async (fault, share) => {
    line.fault = fault;
    expect(await waitUntil(async () => (await away()) === (fault === 'reset'), { timeoutMs: 20_000 })).toBe(true);
    const config = { ...new RedisConfig(), redisPrefix: `${room.prefix}-${fault}` };
    limits = new AttemptLimiter(new RateCounter(room.redis, config), ALERT_MAIL_SECONDS);
    // One account to one address, however it spells the domain.
    expect(await passed('a', 'team@example.org', 15)).toBe(10 * share);
    expect(await passed('a', 'team@example.org.', 5)).toBe(0);
    // It silences neither its own other addresses nor other accounts; all accounts together are limited.
    expect(await passed('a', 'ops@example.org', 1)).toBe(1);
    expect(await passed('b', 'team@example.org', 15)).toBe(10 * share);
    expect(await passed('c', 'team@example.org', 15)).toBe(10 * share);
    expect(await passed('d', 'team@example.org', 15)).toBe(0);
    // One account to many addresses.
    let good = 0;
    for (let number = 0; number < 15; number++) good += await passed('e', `${number}@example.org`, 10);
    expect(good).toBe(100 * share);
  });
});

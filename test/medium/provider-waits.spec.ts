import { waitUntil } from '#embedded/wait-until.js';
import { waitingFor } from '#contract/waiting.js';
import type { ProviderEntry } from '#providers/provider-entry.js';
import { ProviderWaits } from '#routing/provider-waits.js';
import { openLimiterRoom, passed, providerEntry, type LimiterRoom, type OpenLimiter } from '../support/limiter-room.js';

const server = (name: string, limits: Partial<ProviderEntry['limits']>): ProviderEntry => ({
  ...providerEntry('azure', limits),
  server: name,
});
const studio = (limits: Partial<ProviderEntry['limits']> = {}): ProviderEntry => providerEntry('studio', limits);

describe('what calls wait for', () => {
  let room: LimiterRoom;
  let one: OpenLimiter;
  let waits: ProviderWaits;
  beforeEach(async () => {
    room = await openLimiterRoom();
    one = await room.limiter();
    // As another process sees it.
    const other = await room.limiter();
    waits = new ProviderWaits(other.state, other.drained);
  });
  afterEach(() => room.close());

  /** Of a plan with these servers, each with the key `k`. */
  const of = async (servers: readonly ProviderEntry[], evenDrained = false) => {
    const candidates = servers.map((provider) => ({ provider, key: { name: 'k', secret: '' } }));
    return (await waits.of([{ candidates, evenDrained }]))[0];
  };
  const enter = async (entry: ProviderEntry, task: string) => passed(await one.enter(entry, 'k', task));
  /** Fails until the breaker is open, for longer than a test takes. */
  const open = async (entry: ProviderEntry): Promise<void> => {
    for (const task of ['b', 'c', 'd']) (await enter(entry, task)).end('failed');
    await one.limiter.waitForReports();
    await room.redis.hset(`${room.prefix}:gate:${entry.name}:breaker`, 'until', Date.now() + 300_000);
  };

  it('is nothing while a call may begin, and the limit that is reached, for equal servers together', async () => {
    expect(await of([])).toBeUndefined();
    const servers = [server('sweden', { concurrency: 1 }), server('france', { concurrency: 2 })];
    const permit = await enter(servers[0]!, 'a');
    expect(await of(servers)).toBeUndefined();
    await enter(servers[1]!, 'b');
    await enter(servers[1]!, 'c');
    expect(await of(servers)).toEqual(waitingFor('provider', { provider: 'azure', why: 'busy', limit: 3 }));
    permit.end('succeeded');
    await one.limiter.waitForReports();
    expect(await of(servers)).toBeUndefined();
    const rated = studio({ startsPerMinute: 1 });
    (await enter(rated, 'd')).end('succeeded');
    await one.limiter.waitForReports();
    expect(await of([rated])).toEqual(waitingFor('provider', { provider: 'studio', why: 'rate', limit: 1 }));
  });

  it('is a rejected key or an open breaker, with the time of the next try', async () => {
    (await enter(studio(), 'a')).end('key_refused', 20_000);
    await one.limiter.waitForReports();
    const rejected = await of([studio()]);
    expect(rejected).toMatchObject({ provider: 'studio', why: 'key_rejected' });
    expect(Date.parse(rejected!.next_try_at!)).toBeGreaterThan(Date.now());
    const failing = providerEntry('failing');
    await open(failing);
    expect(await of([failing])).toMatchObject({ provider: 'failing', why: 'unavailable' });
    expect(await of([failing, providerEntry('free')])).toBeUndefined();
  });

  it('is the pause that ends first, of whichever kind', async () => {
    (await enter(studio(), 'a')).end('key_refused', 600_000);
    const failing = providerEntry('failing');
    await open(failing);
    expect(await of([studio(), failing])).toMatchObject({ provider: 'failing', why: 'unavailable' });
  });

  it('is an operator, except for an operator’s own test', async () => {
    await one.switches.drain('studio', 'rest');
    const isTold = async () => (await of([studio()]))?.why === 'drained';
    expect(await waitUntil(isTold, { timeoutMs: 20_000 })).toBe(true);
    expect(await of([studio()], true)).toBeUndefined();
    // What takes calls again by itself comes before what an operator paused.
    const busy = providerEntry('busy', { concurrency: 1 });
    await enter(busy, 'a');
    expect(await of([studio(), busy])).toMatchObject({ provider: 'busy', why: 'busy', limit: 1 });
  });
});

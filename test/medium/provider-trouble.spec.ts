import { waitUntil } from '#embedded/wait-until.js';
import type { CallPermit, CallRejection } from '#routing/call-permit.js';
import { FaultProxy } from '../support/fault-proxy.js';
import {
  openLimiterRoom,
  passed,
  PAUSE_MS,
  providerEntry,
  reasonOf,
  type LimiterRoom,
  type OpenLimiter,
} from '../support/limiter-room.js';

const WAIT = { timeoutMs: 30_000 };
type Answer = CallPermit | CallRejection;
const CALLER = { accountId: 'acct_1', accountWeight: 1, originalKeyId: 'key_1', weight: 1 };

/** Of a time that Redis counts down, in ms: it rounds to whole ones. */
const elapsedSince = (began: number): number => performance.now() - began + 2;

describe('a provider in trouble, at several processes', () => {
  let room: LimiterRoom;
  let limiters: OpenLimiter[];
  let tasks = 0;
  beforeEach(async () => {
    room = await openLimiterRoom();
    limiters = [await room.limiter(), await room.limiter(), await room.limiter()];
  });
  const proxies: FaultProxy[] = [];
  afterEach(async () => {
    await room.close();
    await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
  });
  async function proxyOf(url: string): Promise<FaultProxy> {
    const proxy = await FaultProxy.start(url);
    proxies.push(proxy);
    return proxy;
  }

  const entry = providerEntry('p');
  const at = (index: number) => limiters[index % limiters.length] as OpenLimiter;
  const ask = (index: number, key = 'a'): Promise<Answer> => at(index).enter(entry, key, `task-${tasks++}`);
  const look = async () => {
    const [state] = await at(0).state.statesOf(['p']);
    if (state === undefined) throw new Error('no state');
    return state;
  };
  /** Ends calls one after the other, each at another process, as each is known to have arrived. */
  async function end(outcome: 'succeeded' | 'failed' | 'key_refused' | 'neutral', count = 1, key = 'a'): Promise<void> {
    for (let n = 0; n < count; n++) {
      passed(await ask(n, key)).end(outcome);
      expect(await waitUntil(async () => (await look()).calls === 0, WAIT)).toBe(true);
    }
  }
  /** The first pass that anybody gets. */
  async function firstPass(): Promise<CallPermit> {
    let pass: Answer | undefined;
    await waitUntil(async () => {
      const answers = await Promise.all([ask(0), ask(1), ask(2)]);
      pass = answers.find((answer) => 'end' in answer);
      return pass !== undefined;
    }, WAIT);
    return passed(pass ?? { reason: 'open', retryAfterMs: 0 });
  }

  it('is left alone after failures in a row, wherever they happened', async () => {
    await end('failed', 2);
    await end('succeeded');
    await end('failed', 2);
    await end('neutral');
    expect((await look()).breaker).toBe('closed');
    await end('failed');
    const answers = await Promise.all([ask(0), ask(1), ask(2)]);
    for (const answer of answers as CallRejection[]) {
      expect(answer.reason).toBe('open');
      expect(answer.retryAfterMs).toBeLessThanOrEqual(PAUSE_MS);
    }
    expect(reasonOf(await at(1).enter(providerEntry('other'), 'a', 'task'))).toBeUndefined();
  });

  it('is asked by one call alone when the time is over, which closes it when it succeeds', async () => {
    await end('failed', 3);
    expect(await waitUntil(async () => (await look()).breaker === 'half-open', WAIT)).toBe(true);
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => ask(index)));
    const passes = answers.filter((answer) => 'end' in answer);
    expect(passes).toHaveLength(1);
    expect(new Set(answers.map(reasonOf))).toEqual(new Set([undefined, 'open']));
    passes[0]?.end('succeeded');
    expect(await waitUntil(async () => (await look()).breaker === 'closed', WAIT)).toBe(true);
    expect((await Promise.all([ask(0), ask(1), ask(2)])).map(reasonOf)).toEqual([undefined, undefined, undefined]);
  });

  it('is left alone for twice as long when that call fails', async () => {
    await end('failed', 3);
    for (const least of [PAUSE_MS, 2 * PAUSE_MS]) {
      const first = await firstPass();
      const began = performance.now();
      first.end('failed');
      for (const { limiter } of limiters) await limiter.waitForReports();
      // It may be over already.
      const { breaker, openMs } = await look();
      expect(breaker).not.toBe('closed');
      expect(openMs).toBeGreaterThan(2 * least - elapsedSince(began));
      expect(openMs).toBeLessThanOrEqual(2 * least);
    }
  });

  it('is asked by another call when the first one ended without a verdict, or its process was killed', async () => {
    await end('failed', 3);
    (await firstPass()).end('neutral');
    (await firstPass()).end('key_refused', 100);
    (await firstPass()).park(600_000, 'key_refused', 100);
    const doomed = await room.limiter();
    expect(await waitUntil(async () => 'end' in (await doomed.enter(entry, 'a', 'doomed')), WAIT)).toBe(true);
    const killed = doomed.kill();
    expect(reasonOf(await ask(0))).toBe('open');
    await killed;
    (await firstPass()).end('succeeded');
    expect(await waitUntil(async () => (await look()).breaker === 'closed', WAIT)).toBe(true);
  });

  it('is judged by calls that began after it was well again, not by those from before', async () => {
    const early = await Promise.all([ask(0), ask(1), ask(2), ask(0), ask(1), ask(2)]);
    for (const answer of early.slice(0, 3)) passed(answer).end('failed');
    expect(await waitUntil(async () => (await look()).breaker === 'half-open', WAIT)).toBe(true);
    const probe = await firstPass();
    passed(early[3]).end('succeeded');
    expect(await waitUntil(async () => (await look()).calls === 3, WAIT)).toBe(true);
    expect((await look()).breaker).toBe('half-open');
    probe.end('succeeded');
    expect(await waitUntil(async () => (await look()).breaker === 'closed', WAIT)).toBe(true);
    for (const answer of [...early.slice(4), await ask(0)]) passed(answer).end('failed');
    expect(await waitUntil(async () => (await look()).calls === 0, WAIT)).toBe(true);
    await end('failed');
    expect((await look()).breaker).toBe('closed');
    await end('failed');
    expect((await look()).breaker).not.toBe('closed');
  });

  it('keeps a refused key back as long as it was told, while its other keys go on', async () => {
    const pass = passed(await ask(0, 'a'));
    const began = performance.now();
    pass.end('key_refused', 20_000);
    expect(await waitUntil(async () => (await look()).cooling.size === 1, WAIT)).toBe(true);
    const refusal = (await ask(1, 'a')) as CallRejection;
    expect(refusal.reason).toBe('cooling');
    expect(refusal.retryAfterMs).toBeGreaterThan(20_000 - elapsedSince(began));
    expect(refusal.retryAfterMs).toBeLessThanOrEqual(20_000);
    expect(reasonOf(await ask(2, 'b'))).toBeUndefined();
  });

  it('keeps a key that an image was refused with back for images, and for chats only one that a chat was', async () => {
    const forImage = (index: number, key = 'a') =>
      at(index).enter(entry, key, `task-${tasks++}`, { caller: CALLER, jobId: `job-${tasks}` });
    passed(await forImage(0)).end('key_refused', 20_000);
    expect(await waitUntil(async () => (await look()).cooling.has('a'), WAIT)).toBe(true);
    expect(reasonOf(await forImage(1))).toBe('cooling');
    expect(reasonOf(await forImage(1, 'b'))).toBeUndefined();
    const chat = passed(await at(2).enter(entry, 'a', `task-${tasks++}`, { caller: CALLER }));
    chat.end('key_refused', 40_000);
    expect(await waitUntil(async () => ((await look()).cooling.get('a') ?? 0) > 20_000, WAIT)).toBe(true);
    expect(reasonOf(await at(0).enter(entry, 'a', `task-${tasks++}`, { caller: CALLER }))).toBe('cooling');
    expect(((await forImage(1)) as CallRejection).retryAfterMs).toBeGreaterThan(20_000);
  });

  it('keeps a key back twice as long each time it is refused, until it is taken', async () => {
    for (const most of [PAUSE_MS, 2 * PAUSE_MS]) {
      const both = [passed(await ask(0, 'a')), passed(await ask(1, 'a'))];
      const began = performance.now();
      for (const pass of both) pass.end('key_refused');
      expect(await waitUntil(async () => (await look()).calls === 0, WAIT)).toBe(true);
      const ms = (await look()).cooling.get('a') ?? 0;
      expect(ms).toBeGreaterThan(most - elapsedSince(began));
      expect(ms).toBeLessThanOrEqual(most);
      expect(await waitUntil(async () => (await look()).cooling.size === 0, WAIT)).toBe(true);
    }
    await end('succeeded');
    await end('key_refused');
    expect((await look()).cooling.get('a') ?? 0).toBeLessThanOrEqual(PAUSE_MS);
    expect((await look()).breaker).toBe('closed');
  });

  it('gets no new call while it is drained, at any process, but what it works on is resumed', async () => {
    await at(0).switches.drain('p', 'bill not paid');
    expect(
      await waitUntil(async () => reasonOf(await ask(1)) === 'drained' && reasonOf(await ask(2)) === 'drained', WAIT),
    ).toBe(true);
    expect(await ask(1)).toEqual({ reason: 'drained', retryAfterMs: 5_000 });
    expect(reasonOf(await at(1).enter(entry, 'a', 'task', { resume: true }))).toBeUndefined();
    expect(reasonOf(await at(1).enter(providerEntry('other'), 'a', 'task'))).toBeUndefined();
    await at(0).switches.resume('p');
    expect(await waitUntil(async () => reasonOf(await ask(1)) === undefined, WAIT)).toBe(true);
  });

  it('stays drained while Postgres does not answer', async () => {
    const proxy = await proxyOf(room.databaseUrl);
    const cut = await room.limiter({ databaseUrl: proxy.url });
    await at(0).switches.drain('p', null);
    expect(await waitUntil(() => cut.drained.has({ name: 'p' }), WAIT)).toBe(true);
    // A busy machine may have missed a read before.
    const before = cut.logged('provider_switches.unreadable');
    proxy.fault = 'black-hole';
    expect(await waitUntil(() => cut.logged('provider_switches.unreadable') > before, WAIT)).toBe(true);
    await at(0).switches.resume('p');
    expect(await waitUntil(() => !at(0).drained.has({ name: 'p' }), WAIT)).toBe(true);
    expect(reasonOf(await cut.enter(entry, 'a', 'task'))).toBe('drained');
    // Said once, though it is looked for again and again.
    expect(cut.logged('provider_switches.unreadable')).toBe(before + 1);
    proxy.fault = 'pass';
    expect(await waitUntil(async () => reasonOf(await cut.enter(entry, 'a', 'task')) === undefined, WAIT)).toBe(true);
  });

  it.each(['black-hole', 'reset'] as const)('lets calls pass without limits when Redis suffers %s', async (fault) => {
    const proxy = await proxyOf(room.redisUrl);
    const cut = await room.limiter({ redisUrl: proxy.url });
    const full = providerEntry('p', { concurrency: 1 });
    passed(await cut.enter(full, 'a', 'before'));
    proxy.fault = fault;
    const passes = [passed(await cut.enter(full, 'a', 'one')), passed(await cut.enter(full, 'a', 'two'))];
    passes[0]?.end('failed');
    passes[0]?.park(1_000);
    expect(cut.logged('limiter.without_redis')).toBe(1);
    proxy.fault = 'pass';
    // What is in hand counts again as soon as Redis is there, above the limit too.
    expect(await waitUntil(() => cut.logged('limiter.counts_again') === 1, WAIT)).toBe(true);
    expect(await waitUntil(async () => (await look()).calls === 2, WAIT)).toBe(true);
    expect(reasonOf(await cut.enter(full, 'a', 'three'))).toBe('busy');
    expect([cut.logged('limiter.without_redis'), cut.logged('limiter.counts_again')]).toEqual([1, 1]);
  });

  it('tells metrics why calls were refused', async () => {
    await end('failed', 3);
    // Open for longer than a test takes.
    await room.redis.hset(`${room.prefix}:gate:p:breaker`, 'until', Date.now() + 600_000);
    await at(0).enter(entry, 'a', 'task');
    expect(await at(0).metrics.text()).toContain('darkroom_provider_refusals_total{provider="p",reason="open"} 1');
  });
});

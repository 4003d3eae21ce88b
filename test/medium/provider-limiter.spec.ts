import { waitUntil } from '#embedded/wait-until.js';
import type { LimitedCall } from '#routing/limiter-state.js';
import type { CallPermit, CallRejection } from '#routing/call-permit.js';
import {
  openLimiterRoom,
  passed,
  providerEntry,
  reasonOf,
  SLOT_LEASE_MS,
  type LimiterRoom,
  type OpenLimiter,
} from '../support/limiter-room.js';

const WAIT = { timeoutMs: 30_000 };
type Answer = CallPermit | CallRejection;

describe('the limits of a provider, at several processes', () => {
  let room: LimiterRoom;
  let limiters: OpenLimiter[];
  beforeEach(async () => {
    room = await openLimiterRoom();
    limiters = [await room.limiter(), await room.limiter(), await room.limiter()];
  });
  afterEach(() => room.close());

  const at = (index: number) => limiters[index % limiters.length] as OpenLimiter;
  const enterMany = (count: number, entry: ReturnType<typeof providerEntry>): Promise<Answer[]> =>
    Promise.all(Array.from({ length: count }, (_, index) => at(index).enter(entry, 'a', `task-${index}`)));
  const refusals = (answers: readonly Answer[]) => answers.filter((answer) => 'reason' in answer);
  const look = async (name: string) => (await at(0).state.statesOf([name]))[0];

  it('lets as many calls run as it may, however many ask at once, and the next as soon as one has ended', async () => {
    const entry = providerEntry('p', { concurrency: 7 });
    const answers = await enterMany(50, entry);
    expect(refusals(answers)).toHaveLength(43);
    expect(new Set(answers.map(reasonOf))).toEqual(new Set([undefined, 'busy']));
    const [first] = answers.flatMap((answer) => ('reason' in answer ? [] : [answer]));
    first?.end('neutral');
    expect(await waitUntil(async () => (await look('p'))?.calls === 6, WAIT)).toBe(true);
    expect(refusals(await enterMany(50, entry))).toHaveLength(43);
  });

  it('counts calls of providers apart, and those without a limit too', async () => {
    await enterMany(50, providerEntry('one'));
    expect(await look('one')).toEqual({ calls: 50, starts: 50, breaker: 'closed', openMs: 0, cooling: new Map() });
    expect(refusals(await enterMany(3, providerEntry('two', { concurrency: 3 })))).toEqual([]);
    expect(at(0).limiter.inHand()).toEqual(
      new Map([
        ['one', 17],
        ['two', 1],
      ]),
    );
  });

  it('begins as many calls in a minute as it may, and says when the next may begin', async () => {
    const began = performance.now();
    const answers = await enterMany(50, providerEntry('p', { startsPerMinute: 11 }));
    const elapsedMs = performance.now() - began;
    for (const answer of answers) if ('end' in answer) answer.end('succeeded');
    const refused = refusals(answers);
    expect(refused).toHaveLength(39);
    for (const { reason, retryAfterMs } of refused) {
      expect(reason).toBe('rate');
      expect(retryAfterMs).toBeGreaterThan(59_000 - elapsedMs);
      expect(retryAfterMs).toBeLessThanOrEqual(60_000);
    }
    expect((await look('p'))?.starts).toBe(11);
  });

  it('counts what was begun in the last minute and nothing older, call by call', async () => {
    const entry = providerEntry('p', { startsPerMinute: 2 });
    const { redis } = room;
    const [seconds] = await redis.time();
    const now = Number(seconds) * 1_000;
    await redis.zadd(`${room.prefix}:gate:p:starts`, now - 61_000, 'gone', now - 30_000, 'leaves later');
    expect(reasonOf(await at(0).enter(entry, 'a', 'task-1'))).toBeUndefined();
    const answer = (await at(1).enter(entry, 'a', 'task-2')) as CallRejection;
    expect(answer.reason).toBe('rate');
    expect(answer.retryAfterMs).toBeLessThanOrEqual(31_000);
    await redis.zincrby(`${room.prefix}:gate:p:starts`, -28_000, 'leaves later');
    expect(await waitUntil(async () => reasonOf(await at(1).enter(entry, 'a', 'task-2')) === undefined, WAIT)).toBe(
      true,
    );
  });

  it('waits until few enough are left when the limit was lowered', async () => {
    const { redis } = room;
    const began = performance.now();
    const now = Number((await redis.time())[0]) * 1_000;
    const ages = [50_000, 40_000, 30_000, 20_000, 10_000];
    await redis.zadd(`${room.prefix}:gate:p:starts`, ...ages.flatMap((age) => [now - age, `call-${age}`]));
    const answer = (await at(0).enter(providerEntry('p', { startsPerMinute: 2 }), 'a', 'task')) as CallRejection;
    expect(answer.reason).toBe('rate');
    // A time of Redis in whole seconds is up to one too early.
    expect(answer.retryAfterMs).toBeGreaterThan(38_900 - (performance.now() - began));
    expect(answer.retryAfterMs).toBeLessThanOrEqual(40_000);
  });

  it('remembers a bounded number of starts where they are not limited', async () => {
    const { redis } = room;
    const now = Number((await redis.time())[0]) * 1_000;
    const many = Array.from({ length: 10_500 }, (_, index) => [now, `call-${index}`]).flat();
    await redis.zadd(`${room.prefix}:gate:p:starts`, ...many);
    passed(await at(0).enter(providerEntry('p'), 'a', 'task'));
    expect((await look('p'))?.starts).toBe(10_000);
  });

  it('keeps the slots of living processes for as long as they take, and frees those of a killed one', async () => {
    const entry = providerEntry('p', { concurrency: 2 });
    const doomed = await room.limiter();
    passed(await at(0).enter(entry, 'a', 'lives'));
    passed(await doomed.enter(entry, 'a', 'dies'));
    const killed = doomed.kill();
    expect(reasonOf(await at(1).enter(entry, 'a', 'next'))).toBe('busy');
    await killed;
    expect(await waitUntil(async () => reasonOf(await at(1).enter(entry, 'a', 'next')) === undefined, WAIT)).toBe(true);
    // Longer than a lease later nobody else has lost a slot.
    const end = Date.now() + SLOT_LEASE_MS + 1_000;
    expect(await waitUntil(() => Date.now() > end, WAIT)).toBe(true);
    expect(reasonOf(await at(2).enter(entry, 'a', 'one more'))).toBe('busy');
  });

  it('keeps the slot of a parked call without anybody renewing it, and gives it to its task again', async () => {
    const entry = providerEntry('p', { concurrency: 1, startsPerMinute: 1 });
    const doomed = await room.limiter();
    const permit = passed(await doomed.enter(entry, 'a', 'parked'));
    permit.park(60_000);
    permit.end('failed');
    await doomed.limiter.close();
    await doomed.kill();
    const end = Date.now() + SLOT_LEASE_MS + 1_000;
    expect(await waitUntil(() => Date.now() > end, WAIT)).toBe(true);
    expect(reasonOf(await at(0).enter(entry, 'a', 'other'))).toBe('busy');
    const resumed = passed(await at(1).enter(entry, 'a', 'parked', { resume: true }));
    expect(await look('p')).toMatchObject({ calls: 1, starts: 1 });
    resumed.end('succeeded');
    expect(await waitUntil(async () => (await look('p'))?.calls === 0, WAIT)).toBe(true);
    expect(reasonOf(await at(0).enter(entry, 'a', 'other'))).toBe('rate');
  });

  it('hears of a parked call whose job could not be checked, which keeps its slot', async () => {
    const entry = providerEntry('p', { concurrency: 4 });
    passed(await at(0).enter(entry, 'a', 'refused')).park(60_000, 'key_refused', 20_000);
    expect(await waitUntil(async () => (await look('p'))?.cooling.has('a') === true, WAIT)).toBe(true);
    expect(reasonOf(await at(1).enter(entry, 'a', 'other'))).toBe('cooling');
    passed(await at(1).enter(entry, 'a', 'refused', { resume: true })).park(60_000);
    for (let n = 0; n < 3; n++) passed(await at(n).enter(entry, 'b', `failing-${n}`)).park(60_000, 'failed');
    expect(await waitUntil(async () => (await look('p'))?.breaker !== 'closed', WAIT)).toBe(true);
    passed(await at(1).enter(entry, 'b', 'failing-0', { resume: true })).park(60_000);
    await at(1).limiter.waitForReports();
    expect((await look('p'))?.calls).toBe(4);
  });

  it('frees a parked slot when its time is over', async () => {
    const entry = providerEntry('p', { concurrency: 1 });
    passed(await at(0).enter(entry, 'a', 'parked')).park(300);
    expect(await waitUntil(async () => reasonOf(await at(1).enter(entry, 'a', 'next')) === undefined, WAIT)).toBe(true);
  });

  it('lets a task resume though the provider is full, open, and refuses its key', async () => {
    const entry = providerEntry('p', { concurrency: 1 });
    for (let n = 0; n < 3; n++) passed(await at(n).enter(entry, 'b', `failing-${n}`)).end('failed');
    expect(await waitUntil(async () => (await look('p'))?.breaker !== 'closed', WAIT)).toBe(true);
    passed(await at(0).enter(entry, 'a', 'x', { resume: true })).end('key_refused', 60_000);
    expect(await waitUntil(async () => (await look('p'))?.cooling.has('a') === true, WAIT)).toBe(true);
    passed(await at(0).enter(entry, 'a', 'first', { resume: true }));
    passed(await at(1).enter(entry, 'a', 'second', { resume: true }));
    expect((await look('p'))?.calls).toBe(2);
  });

  it('leaves the slot of a task with whoever has it now, whatever an earlier holder still says', async () => {
    const entry = providerEntry('p', { concurrency: 1 });
    const earlier = passed(await at(0).enter(entry, 'a', 'task'));
    passed(await at(1).enter(entry, 'a', 'task'));
    earlier.end('neutral');
    await at(0).limiter.waitForReports();
    expect(reasonOf(await at(2).enter(entry, 'a', 'other'))).toBe('busy');
  });

  it('gives a slot that was taken over to no one who renews, parks or ends what he has lost', async () => {
    const { state } = at(0);
    const [lost, lease] = ['lost', 'held'].map((permit) => ({
      permit,
      option: { provider: providerEntry('p'), key: { name: 'a' } },
      taskId: 'task',
      isImage: false,
    })) as [LimitedCall, LimitedCall];
    for (const call of [lost, lease]) await state.enter(call, [call.option], {});
    await state.renew([lost]);
    await state.leave(lost, { outcome: 'neutral', startedAt: 0, keepMs: 60_000 });
    await state.leave(lost, { outcome: 'neutral', startedAt: 0 });
    expect((await look('p'))?.calls).toBe(1);
    await state.leave(lease, { outcome: 'neutral', startedAt: 0 });
    expect((await look('p'))?.calls).toBe(0);
  });

  it('counts calls in hand again when Redis has forgotten them', async () => {
    const entry = providerEntry('p', { concurrency: 2 });
    passed(await at(0).enter(entry, 'a', 'one'));
    passed(await at(1).enter(entry, 'a', 'two'));
    const { redis } = room;
    await redis.del(`${room.prefix}:gate:p:calls`, `${room.prefix}:gate:p:owners`);
    expect(await waitUntil(async () => (await look('p'))?.calls === 2, WAIT)).toBe(true);
    expect(reasonOf(await at(2).enter(entry, 'a', 'three'))).toBe('busy');
  });
});

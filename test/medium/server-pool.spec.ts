import type { QueueCaller } from '#queue/fair-order.js';
import { imageJobId, taskIdOf } from '#queue/job-catalog.js';
import { serverId, type ProviderEntry } from '#providers/provider-entry.js';
import type { Asking, CallPermit, CallRejection } from '#routing/call-permit.js';
import type { CallOption } from '#routing/limiter-state.js';
import { newTaskId } from '#tasks/row/task-id.js';
import { waitUntil } from '#embedded/wait-until.js';
import {
  nextMillisecond,
  openLimiterRoom,
  passed,
  providerEntry,
  reasonOf,
  type LimiterRoom,
  type OpenLimiter,
} from '../support/limiter-room.js';

const WAIT = { timeoutMs: 30_000 };

describe('the equal servers of a provider', () => {
  let room: LimiterRoom;
  let limiters: OpenLimiter[];
  beforeEach(async () => {
    room = await openLimiterRoom();
    limiters = [await room.limiter(), await room.limiter()];
  });
  afterEach(() => room.close());

  let asked = 0;
  const any = (): OpenLimiter => limiters[asked++ % limiters.length] as OpenLimiter;
  const server = (name: string, limits: Partial<ProviderEntry['limits']> = {}): ProviderEntry => ({
    ...providerEntry('pool', limits),
    server: name,
  });
  const optionsOf = (...servers: ProviderEntry[]): CallOption[] => servers.map((provider) => ({ provider }));
  const enter = (options: readonly CallOption[], task: string, asking?: Asking) =>
    any().limiter.enter(options, task, asking);
  const nameOf = (answer: (CallPermit & { readonly option: CallOption }) | CallRejection): string | undefined =>
    'reason' in answer ? undefined : answer.option.provider.server;
  const look = async (name: string) => (await any().state.statesOf([`pool/${name}`]))[0];
  const reported = async (): Promise<void> => {
    for (const { limiter } of limiters) await limiter.waitForReports();
  };

  it('have limits of their own: a full one is not waited for while another is free', async () => {
    const four = ['a', 'b', 'c', 'd'].map((name) => server(name, { startsPerMinute: 12 }));
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) => {
        const first = n % four.length;
        return enter(optionsOf(...four.slice(first), ...four.slice(0, first)), `task-${n}`);
      }),
    );
    for (const one of four) {
      expect(answers.filter((answer) => nameOf(answer) === one.server)).toHaveLength(12);
      expect(await look(one.server ?? '')).toMatchObject({ calls: 12, starts: 12 });
    }
    expect(answers.map(reasonOf).filter((reason) => reason === 'rate')).toHaveLength(12);
  });

  it('are called in the order given, as long as they are free', async () => {
    const [a, b] = [server('a', { concurrency: 1 }), server('b', { concurrency: 1 })];
    expect(nameOf(await enter(optionsOf(b, a), 'one'))).toBe('b');
    expect(nameOf(await enter(optionsOf(b, a), 'two'))).toBe('a');
    expect(reasonOf(await enter(optionsOf(b, a), 'three'))).toBe('busy');
  });

  it('pause apart: one that refused its key, or keeps failing, is not called', async () => {
    const [a, b] = [server('a'), server('b')];
    passed(await enter(optionsOf(a, b), 'one')).end('key_refused', 600_000);
    await reported();
    const other = await enter(optionsOf(a, b), 'two');
    expect(nameOf(other)).toBe('b');
    for (let n = 0; n < 3; n++) passed(await enter(optionsOf(b), `fails-${n}`)).end('failed');
    await reported();
    // Open until this test says otherwise.
    const breaker = `${room.prefix}:gate:pool/b:breaker`;
    await room.redis.hset(breaker, 'until', Date.now() + 300_000);
    expect(await look('b')).toMatchObject({ breaker: 'open' });
    // What ends first decides when to ask again.
    expect(await enter(optionsOf(a, b), 'three')).toMatchObject({ reason: 'open' });
    expect(nameOf(await enter(optionsOf(a, b, server('c')), 'three'))).toBe('c');
    // The failed one is tried again by a single call, and others go on.
    await room.redis.hset(breaker, 'until', 1);
    expect(await look('b')).toMatchObject({ breaker: 'half-open' });
    expect(nameOf(await enter(optionsOf(b, server('c')), 'probe'))).toBe('b');
    expect(nameOf(await enter(optionsOf(b, server('c')), 'four'))).toBe('c');
  });

  it('have keys of their own, of which the first that does not rest is used', async () => {
    const a = server('a');
    const [first, second] = [
      { provider: a, key: { name: 'k1' } },
      { provider: a, key: { name: 'k2' } },
    ];
    const permit = await any().limiter.enter([first, second], 'one');
    expect(permit).toMatchObject({ option: first });
    passed(permit).end('key_refused', 600_000);
    await reported();
    expect(await any().limiter.enter([first, second], 'two')).toMatchObject({ option: second });
    const elsewhere = { provider: server('b'), key: { name: 'k1' } };
    expect(await any().limiter.enter([elsewhere], 'three')).toMatchObject({ option: elsewhere });
  });

  it('can be drained one by one, or all at once', async () => {
    const [a, b] = [server('a'), server('b')];
    const hasDrained = (one: ProviderEntry) => waitUntil(() => limiters.every(({ drained }) => drained.has(one)), WAIT);
    await any().switches.drain(serverId(a), 'broken fan');
    expect(await hasDrained(a)).toBe(true);
    expect(nameOf(await enter(optionsOf(a, b), 'one'))).toBe('b');
    expect(reasonOf(await enter(optionsOf(a), 'two'))).toBe('drained');
    await any().switches.drain('pool', null);
    expect(await hasDrained(b)).toBe(true);
    expect(reasonOf(await enter(optionsOf(a, b), 'three'))).toBe('drained');
  });

  it('keep the slot of a parked call each, and resume it', async () => {
    const [a, b] = [server('a', { concurrency: 1 }), server('b', { concurrency: 1 })];
    passed(await enter(optionsOf(a, b), 'parked')).park(60_000);
    passed(await enter(optionsOf(a, b), 'other')).end('succeeded');
    await reported();
    expect([(await look('a'))?.calls, (await look('b'))?.calls]).toEqual([1, 0]);
    passed(await enter(optionsOf(a), 'parked', { resume: true })).end('succeeded');
    await reported();
    expect((await look('a'))?.calls).toBe(0);
  });

  describe('have one line of waiting tasks', () => {
    interface Task {
      readonly id: string;
      readonly caller: QueueCaller;
    }
    const caller = (account: string): QueueCaller => ({
      accountId: account,
      accountWeight: 1,
      originalKeyId: `${account}-key`,
      weight: 1,
    });
    const ask = ({ id, caller: whose }: Task, ...servers: ProviderEntry[]) =>
      enter(optionsOf(...servers), id, { caller: whose, jobId: imageJobId(id, 1) });
    const waiting = async (account: string, ...servers: ProviderEntry[]): Promise<Task> => {
      const task = { id: newTaskId(), caller: caller(account) };
      expect(reasonOf(await ask(task, ...servers))).toBe('busy');
      await any().queue.add({ taskId: task.id, epoch: 1, delayMs: 600_000 });
      // It does not ask again by itself.
      await room.redis.zadd(`${room.prefix}:gate:pool:waits`, 'XX', Date.now() + 600_000, task.id);
      return task;
    };
    const called = async (): Promise<string[]> => {
      await reported();
      const jobs = (await room.redis.zrange(`${room.prefix}:images:prioritized`, '0', '-1')).map(String);
      // Their places are kept for a few seconds only.
      for (const job of jobs) {
        for (const name of ['a', 'b']) {
          await room.redis.zadd(`${room.prefix}:gate:pool/${name}:calls`, 'XX', Date.now() + 600_000, taskIdOf(job));
        }
      }
      if (jobs.length > 0) await room.redis.zrem(`${room.prefix}:images:prioritized`, ...jobs);
      return jobs.map(taskIdOf);
    };

    it('whose first gets the place that becomes free, at whichever server it may use', async () => {
      const [a, b] = [server('a', { concurrency: 1 }), server('b', { concurrency: 1 })];
      const atA = passed(await enter(optionsOf(a), 'one'));
      const atB = passed(await enter(optionsOf(b), 'two'));
      const onlyA = await waiting('pinned', a);
      const either = await waiting('free', a, b);
      atB.end('succeeded');
      expect(await called()).toEqual([either.id]);
      expect(nameOf(await ask(either, a, b))).toBe('b');
      atA.end('succeeded');
      expect(await called()).toEqual([onlyA.id]);
      expect(nameOf(await ask(onlyA, a))).toBe('a');
    });

    it.each([20, 320])(
      'whose last gets its place, at the latest when it asks, behind %i that wait for another server',
      async (count) => {
        const [a, b] = [server('a', { concurrency: 1 }), server('b', { concurrency: 1 })];
        passed(await enter(optionsOf(a), 'one'));
        const atB = passed(await enter(optionsOf(b), 'two'));
        await Promise.all(Array.from({ length: count }, () => waiting('account', a)));
        await nextMillisecond(room.redis);
        const either = [await waiting('account', a, b), await waiting('account', a, b)] as const;
        atB.end('succeeded');
        // A script looks at 300 others at most.
        expect(await called()).toEqual(count < 300 ? [either[0].id] : []);
        const asks = either[count < 300 ? 0 : 1];
        const permit = await ask(asks, a, b);
        expect(nameOf(permit)).toBe('b');
        expect((await look('b'))?.calls).toBe(1);
        passed(permit).end('succeeded');
        await called();
        expect(nameOf(await ask(either[count < 300 ? 1 : 0], a, b))).toBe('b');
      },
    );

    it('whose turn is kept, whoever asks meanwhile, also when the server that kept it can no longer be used', async () => {
      const [a, b] = [server('a', { concurrency: 1 }), server('b', { concurrency: 1 })];
      const atA = passed(await enter(optionsOf(a), 'one'));
      const atB = passed(await enter(optionsOf(b), 'two'));
      const task = await waiting('first', a, b);
      atA.end('succeeded');
      expect(await called()).toEqual([task.id]);
      expect(reasonOf(await ask({ id: newTaskId(), caller: caller('late') }, a, b))).toBe('busy');
      atB.end('succeeded');
      await reported();
      // Its server fails before the task comes back.
      const slot = await room.redis.zscore(`${room.prefix}:gate:pool/a:calls`, task.id);
      expect(slot).not.toBeNull();
      expect(nameOf(await ask(task, b))).toBe('b');
      expect((await look('b'))?.calls).toBe(1);
    });
  });
});

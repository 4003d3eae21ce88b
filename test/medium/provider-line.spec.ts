import type { QueueCaller } from '#queue/fair-order.js';
import { imageJobId, taskIdOf } from '#queue/job-catalog.js';
import type { CallPermit, CallRejection } from '#routing/call-permit.js';
import { newTaskId } from '#tasks/row/task-id.js';
import {
  nextMillisecond,
  openLimiterRoom,
  passed,
  providerEntry,
  reasonOf,
  type LimiterRoom,
  type OpenLimiter,
} from '../support/limiter-room.js';

/** A task that asks for a call, and comes back by its job when it was rejected. */
interface Task {
  readonly id: string;
  readonly caller: QueueCaller;
}

describe('who comes next at a provider that is full', () => {
  let room: LimiterRoom;
  let limiters: OpenLimiter[];
  beforeEach(async () => {
    room = await openLimiterRoom();
    limiters = [await room.limiter(), await room.limiter()];
  });
  afterEach(() => room.close());

  let asked = 0;
  const any = (): OpenLimiter => limiters[asked++ % limiters.length] as OpenLimiter;
  const one = providerEntry('p', { concurrency: 1 });
  const jobsOf = (state: string): string => `${room.prefix}:images:${state}`;

  function caller(account: string, { key = `${account}-key`, weight = 1, keyWeight = 1 } = {}): QueueCaller {
    return { accountId: account, accountWeight: weight, originalKeyId: key, weight: keyWeight };
  }
  const ask = (task: Task, entry = one): Promise<CallPermit | CallRejection> =>
    any().enter(entry, 'a', task.id, { caller: task.caller, jobId: imageJobId(task.id, 1) });

  const LONG_MS = 600_000;
  /** The chats of a caller, as they wait. */
  const CHATS = 'chat talks talks-key';
  const until = (set: 'waits' | 'calls', name: string): Promise<unknown> =>
    room.redis.zadd(`${room.prefix}:gate:p:${set}`, 'XX', Date.now() + LONG_MS, name);
  /** It counts as waiting for longer than a test takes, not only some seconds longer than it was told to wait. */
  const keepWaiting = (name: string): Promise<unknown> => until('waits', name);

  /** New tasks of a caller that are rejected, and wait: their jobs are delayed for longer than a test takes. */
  async function wait(count: number, whose: QueueCaller, entry = one): Promise<Task[]> {
    const tasks = Array.from({ length: count }, () => ({ id: newTaskId(), caller: whose }));
    for (const task of tasks) {
      expect(reasonOf(await ask(task, entry))).toBeDefined();
      await any().queue.add({ taskId: task.id, epoch: 1, delayMs: LONG_MS });
      await keepWaiting(task.id);
      await nextMillisecond(room.redis);
    }
    return tasks;
  }

  /** The tasks whose jobs were called since the last time, in their order. */
  async function called(): Promise<string[]> {
    for (const { limiter } of limiters) await limiter.waitForReports();
    const jobs = (await room.redis.zrange(jobsOf('prioritized'), '0', '-1')).map(String);
    // Their places are kept for a few seconds only.
    for (const job of jobs) await until('calls', taskIdOf(job));
    if (jobs.length > 0) await room.redis.zrem(jobsOf('prioritized'), ...jobs);
    return jobs.map(taskIdOf);
  }

  /** The call that fills the provider. */
  let permit: CallPermit;
  const fill = async (): Promise<void> => {
    permit = passed(await ask({ id: newTaskId(), caller: caller('first') }));
  };

  /** Ends the call that runs, and has the task that is called take its turn, so often; answers with whose these were. */
  async function served(tasks: readonly Task[], turns: number): Promise<string[]> {
    const owners: string[] = [];
    for (let n = 0; n < turns; n++) {
      permit.end('succeeded');
      const [next] = await called();
      const task = tasks.find(({ id }) => id === next);
      if (task === undefined) break;
      permit = passed(await ask(task));
      owners.push(task.caller.originalKeyId);
    }
    return owners;
  }

  it('is one account after the other, however many tasks of one were there before', async () => {
    await fill();
    const big = await wait(20, caller('big'));
    const small = await wait(3, caller('small'));
    const order = await served([...big, ...small], 8);
    expect(order.map((key) => key.replace('-key', ''))).toEqual([
      ...['big', 'small', 'big', 'small', 'big', 'small', 'big', 'big'],
    ]);
  });

  it('is the oldest task of a key, and one key of an account after the other', async () => {
    await fill();
    const many = await wait(6, caller('account', { key: 'many' }));
    const few = await wait(2, caller('account', { key: 'few' }));
    const other = await wait(2, caller('other'));
    const order = await served([...many, ...few, ...other], 9);
    expect(order.filter((key) => key !== 'other-key')).toEqual(['few', 'many', 'few', 'many', 'many', 'many', 'many']);
    expect(order.slice(0, 4).filter((key) => key === 'other-key')).toHaveLength(2);
  });

  it('is an account, or a key of one, as often as it weighs', async () => {
    await fill();
    const tasks = [
      ...(await wait(12, caller('light'))),
      ...(await wait(12, caller('heavy', { key: 'light', weight: 3 }))),
      ...(await wait(12, caller('heavy', { key: 'heavy', weight: 3, keyWeight: 2 }))),
    ];
    const order = await served(tasks, 16);
    const count = (key: string): number => order.filter((one) => one === key).length;
    expect(count('light-key')).toBe(4);
    expect(count('heavy')).toBe(8);
    expect(count('light')).toBe(4);
  });

  it('is nobody who has just come, whoever asks first when a place is free', async () => {
    await fill();
    const [task] = (await wait(1, caller('waiting'))) as [Task];
    permit.end('succeeded');
    expect(await called()).toEqual([task.id]);
    const late = { id: newTaskId(), caller: caller('late') };
    expect(reasonOf(await ask(late))).toBe('busy');
    expect(reasonOf(await any().enter(one, 'a', 'unknown'))).toBe('busy');
    expect(reasonOf(await ask(task))).toBeUndefined();
  });

  it('has no credit from a time when nobody waited, and no debt', async () => {
    await fill();
    for (let n = 0; n < 30; n++) {
      permit.end('succeeded');
      await called();
      permit = passed(await ask({ id: newTaskId(), caller: caller('busy') }));
    }
    const busy = await wait(8, caller('busy'));
    expect(await served(busy, 4)).toHaveLength(4);
    const rested = await wait(4, caller('rested'));
    const order = await served([...busy, ...rested], 6);
    expect(order.filter((key) => key === 'rested-key')).toHaveLength(3);
  });

  it('is everyone at once while there are more places than tasks', async () => {
    const entry = providerEntry('p', { concurrency: 4 });
    const permits = await Promise.all(
      Array.from({ length: 4 }, async () => passed(await ask({ id: newTaskId(), caller: caller('first') }, entry))),
    );
    const big = await wait(2, caller('big'), entry);
    const small = await wait(1, caller('small'), entry);
    for (const permit of permits) permit.end('succeeded');
    expect((await called()).sort()).toEqual([...big, ...small].map(({ id }) => id).sort());
    for (const task of [...big, ...small]) passed(await ask(task, entry));
    passed(await ask({ id: newTaskId(), caller: caller('big') }, entry));
    expect(reasonOf(await ask({ id: newTaskId(), caller: caller('big') }, entry))).toBe('busy');
  });

  it('keeps to the rate, whoever is called', async () => {
    const entry = providerEntry('p', { startsPerMinute: 3 });
    const permits = await Promise.all(
      Array.from({ length: 3 }, async () => passed(await ask({ id: newTaskId(), caller: caller('first') }, entry))),
    );
    const big = await wait(3, caller('big'), entry);
    const small = await wait(2, caller('small'), entry);
    for (const permit of permits) permit.end('succeeded');
    expect(await called()).toEqual([]);
    const starts = `${room.prefix}:gate:p:starts`;
    const begun = await room.redis.zrange(starts, '0', '0');
    await room.redis.zadd(starts, 1, String(begun[0]));
    expect(reasonOf(await ask(big[2] as Task, entry))).toBe('busy');
    expect(await called()).toEqual([big[0]?.id]);
    expect(reasonOf(await ask(small[1] as Task, entry))).toBe('busy');
    passed(await ask(big[0] as Task, entry));
    expect(reasonOf(await ask(small[1] as Task, entry))).toBe('rate');
    await room.redis.zremrangebyrank(starts, 0, 0);
    expect(reasonOf(await ask(big[2] as Task, entry))).toBe('busy');
    expect(await called()).toEqual([small[0]?.id]);
  });

  it('is not a task that was cancelled, is running elsewhere, or waited too long ago', async () => {
    await fill();
    const [cancelled, elsewhere, gone, next] = [
      ...(await wait(1, caller('a'))),
      ...(await wait(1, caller('b'))),
      ...(await wait(1, caller('c'))),
      ...(await wait(1, caller('d'))),
    ] as [Task, Task, Task, Task];
    await any().queue.remove({ taskId: cancelled.id, epoch: 1 });
    await any().queue.hurry([imageJobId(elsewhere.id, 1)]);
    expect(await called()).toEqual([elsewhere.id]);
    await room.redis.zadd(`${room.prefix}:gate:p:waits`, 1, gone.id);
    expect(reasonOf(await ask({ id: newTaskId(), caller: caller('e') }))).toBe('busy');
    permit.end('succeeded');
    expect(await called()).toEqual([next.id]);
  });

  it('is the next one when a task that was called does not come', async () => {
    await fill();
    const [lost, next] = [...(await wait(1, caller('a'))), ...(await wait(1, caller('b')))] as [Task, Task];
    permit.end('succeeded');
    expect(await called()).toEqual([lost.id]);
    await room.redis.zadd(`${room.prefix}:gate:p:calls`, 1, lost.id);
    expect(reasonOf(await ask(next))).toBeUndefined();
  });

  it('asks again the later, the more tasks wait, but never later than 30 s', async () => {
    await fill();
    const told: number[] = [];
    for (let n = 0; n < 80; n++) {
      const task = { id: newTaskId(), caller: caller('big') };
      const answer = (await ask(task)) as CallRejection;
      told.push(answer.retryAfterMs);
      await keepWaiting(task.id);
    }
    expect(told[0]).toBe(1_000);
    expect(told[39]).toBeGreaterThan(15_000);
    expect(told.at(-1)).toBe(30_000);
    expect(told).toEqual([...told].sort((a, b) => a - b));
  });

  it('is a chat, whose caller tries again, or in its place an image of another account', async () => {
    const chat = (): Promise<CallPermit | CallRejection> =>
      any().enter(one, 'a', `chat-${asked}`, { caller: caller('talks') });
    await fill();
    expect(reasonOf(await chat())).toBe('busy');
    const [image] = (await wait(1, caller('draws'))) as [Task];
    permit.end('succeeded');
    expect(await called()).toEqual([image.id]);
    expect(reasonOf(await chat())).toBe('busy');
    await keepWaiting(CHATS);
    permit = passed(await ask(image));
    await wait(1, caller('draws'));
    permit.end('succeeded');
    expect(await called()).toEqual([]);
    expect(reasonOf(await ask({ id: newTaskId(), caller: caller('draws') }))).toBe('busy');
    passed(await chat());
  });

  /** As if so many ms had passed at provider p. */
  async function pass(ms: number): Promise<void> {
    const sets = ['calls', 'starts', 'waits'].map((name) => `${room.prefix}:gate:p:${name}`);
    const script = `for _, set in ipairs(KEYS) do
      for _, member in ipairs(redis.call('ZRANGE', set, 0, -1)) do redis.call('ZINCRBY', set, -ARGV[1], member) end
    end`;
    await room.redis.eval(script, sets.length, ...sets, ms);
  }

  it('is a chat in its turn at a provider that is full for the minute, if its caller retries when it is told', async () => {
    const entry = providerEntry('p', { startsPerMinute: 4 });
    for (let n = 0; n < 4; n++) {
      await pass(15_000);
      passed(await ask({ id: newTaskId(), caller: caller('draws') }, entry)).end('succeeded');
    }
    const images = await wait(20, caller('draws'), entry);
    let chats = 0;
    let retryIn = 0;
    for (let second = 0; second < 100; second++) {
      const began = performance.now();
      if (second >= retryIn) {
        const answer = await any().enter(entry, 'a', `chat-${second}`, { caller: caller('talks') });
        if ('end' in answer) answer.end('succeeded');
        chats += 'end' in answer ? 1 : 0;
        retryIn = second + ('end' in answer ? 1 : answer.retryAfterMs / 1_000);
      }
      const ready = new Set([images[0]?.id, ...(await called())]);
      for (const next of images.filter(({ id }) => ready.has(id))) {
        const answer = await ask(next, entry);
        if (!('end' in answer)) continue;
        answer.end('succeeded');
        images.splice(images.indexOf(next), 1);
      }
      await pass(Math.max(0, 1_000 - (performance.now() - began)));
    }
    expect(chats).toBeGreaterThanOrEqual(2);
  });

  describe('is a chat whose caller', () => {
    const chat = (entry = one, key = 'a'): Promise<CallPermit | CallRejection> =>
      any().enter(entry, key, `chat-${asked}`, { caller: caller('talks') });
    const resume = async (entry = one): Promise<CallPermit> =>
      passed(await any().enter(entry, 'a', newTaskId(), { caller: caller('first'), resume: true }));
    const end = async (call: CallPermit, outcome: 'succeeded' | 'key_refused' = 'succeeded'): Promise<void> => {
      call.end(outcome, LONG_MS);
      await called();
    };
    const waitsUntil = (): Promise<string | null> => room.redis.zscore(`${room.prefix}:gate:p:waits`, CHATS);

    it('came back while a task that is resumed held its place', async () => {
      await fill();
      expect(reasonOf(await chat())).toBe('busy');
      await end(permit);
      const resumed = await resume();
      expect(reasonOf(await chat())).toBe('busy');
      await end(resumed);
      passed(await chat());
    });

    it('was told to wait for longer when it already had a place', async () => {
      const keys = ['a', 'b'].map((name) => ({ name, secret: '' }));
      const entry = { ...providerEntry('p', { concurrency: 2 }), keys };
      const first = await resume(entry);
      const second = await resume(entry);
      expect(reasonOf(await chat(entry))).toBe('busy');
      await end(second, 'key_refused');
      expect(reasonOf(await chat(entry))).toBe('cooling');
      await keepWaiting(CHATS);
      const told = await waitsUntil();
      await end(first);
      expect(await room.redis.zscore(`${room.prefix}:gate:p:calls`, CHATS)).toBe(told);
      passed(await chat(entry, 'b'));
    });

    it('was told to wait for longer than another chat of the same key', async () => {
      const entry = providerEntry('p', { concurrency: 1, startsPerMinute: 1 });
      await end(passed(await ask({ id: newTaskId(), caller: caller('first') }, entry)));
      expect(await chat(entry)).toMatchObject({ reason: 'rate', retryAfterMs: 5_000 });
      await keepWaiting(CHATS);
      const told = await waitsUntil();
      await resume(entry);
      expect(await chat(entry)).toMatchObject({ reason: 'busy', retryAfterMs: 1_000 });
      expect(await waitsUntil()).toBe(told);
    });
  });

  it('leaves no key in Redis that never expires, and no turn of a key that a waiting task had before', async () => {
    await fill();
    const [task] = (await wait(1, caller('account', { key: 'rotated' }))) as [Task];
    expect(reasonOf(await ask({ ...task, caller: caller('account', { key: 'current' }) }))).toBe('busy');
    expect(await room.redis.zrange(`${room.prefix}:gate:p:turns:account`, '0', '-1')).toEqual(['current']);
    permit.end('succeeded');
    expect(await called()).toEqual([task.id]);
    for (const key of await room.redis.keys(`${room.prefix}:gate:*`))
      expect(await room.redis.pttl(key)).toBeGreaterThan(0);
  });

  it('are few at first when a provider without limits is well again, and then more and more', async () => {
    const entry = providerEntry('p');
    for (let n = 0; n < 3; n++) passed(await ask({ id: newTaskId(), caller: caller('first') }, entry)).end('failed');
    await called();
    // Open until this test says otherwise.
    await room.redis.hset(`${room.prefix}:gate:p:breaker`, 'until', Date.now() + 600_000);
    const big = await wait(20, caller('big'), entry);
    const small = await wait(2, caller('small'), entry);
    await room.redis.hset(`${room.prefix}:gate:p:breaker`, 'until', 1);
    const probe = passed(await ask(big[7] as Task, entry));
    expect(reasonOf(await ask(small[0] as Task, entry))).toBe('open');
    expect(await called()).toEqual([]);
    probe.end('succeeded');
    const two = await called();
    expect(two).toEqual([big[0]?.id, small[0]?.id]);
    for (const task of [big[0] as Task, small[0] as Task]) passed(await ask(task, entry)).end('succeeded');
    expect(await called()).toHaveLength(4);
  });
});

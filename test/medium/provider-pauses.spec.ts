import type { QueueCaller } from '#queue/fair-order.js';
import { imageJobId, taskIdOf } from '#queue/job-catalog.js';
import type { CallPermit, CallRejection } from '#routing/call-permit.js';
import { newTaskId } from '#tasks/row/task-id.js';
import {
  nextMillisecond,
  openLimiterRoom,
  passed,
  PAUSE_MS,
  providerEntry,
  reasonOf,
  type LimiterRoom,
  type OpenLimiter,
} from '../support/limiter-room.js';

const CALLER: QueueCaller = { accountId: 'acct_1', accountWeight: 1, originalKeyId: 'key_1', weight: 1 };
/** Longer than a test takes. */
const LONG_MS = 600_000;

describe('an operator who does not wait for the end of a pause', () => {
  let room: LimiterRoom;
  let limiter: OpenLimiter;
  beforeEach(async () => {
    room = await openLimiterRoom();
    limiter = await room.limiter();
  });
  afterEach(() => room.close());

  const ask = (id: string, entry = providerEntry('p'), isTest = false): Promise<CallPermit | CallRejection> =>
    limiter.enter(entry, 'a', id, { caller: CALLER, jobId: imageJobId(id, 1), isTest });
  const stateOf = async () => (await limiter.state.statesOf(['p']))[0]!;
  const told = () => limiter.limiter.waitForReports();

  /** Fails until the breaker is open, for longer than a test takes. */
  async function open(entry = providerEntry('p')): Promise<void> {
    for (let n = 0; n < 3; n++) {
      passed(await ask(newTaskId(), entry)).end('failed');
      await told();
    }
    await room.redis.hset(`${room.prefix}:gate:p:breaker`, 'until', Date.now() + LONG_MS);
    expect((await stateOf()).breaker).toBe('open');
  }

  /** New tasks that are rejected and wait, the oldest first. */
  async function wait(count: number, entry = providerEntry('p')): Promise<string[]> {
    const ids = Array.from({ length: count }, () => newTaskId());
    for (const id of ids) {
      expect(reasonOf(await ask(id, entry))).toBe('open');
      await limiter.queue.add({ taskId: id, epoch: 1, delayMs: LONG_MS });
      await nextMillisecond(room.redis);
    }
    return ids;
  }

  /** The tasks whose jobs were called since the last time. */
  async function called(): Promise<string[]> {
    await told();
    const set = `${room.prefix}:images:prioritized`;
    const jobs = (await room.redis.zrange(set, '0', '-1')).map(String);
    if (jobs.length > 0) await room.redis.zrem(set, ...jobs);
    return jobs.map(taskIdOf);
  }

  it('lets one waiting task call it, and the others follow when that succeeds', async () => {
    await open();
    const [first, second, third] = await wait(3);
    expect(await limiter.limiter.endPauses([providerEntry('p')])).toEqual({ ended: 1, called: 1 });
    expect(await called()).toEqual([first]);
    expect((await stateOf()).breaker).toBe('half-open');
    const probe = passed(await ask(first!));
    // Nobody else meanwhile, and another click changes nothing.
    expect(reasonOf(await ask(second!))).toBe('open');
    expect(await limiter.limiter.endPauses([providerEntry('p')])).toEqual({ ended: 0, called: 0 });
    probe.end('succeeded');
    expect(new Set(await called())).toEqual(new Set([second, third]));
    expect((await stateOf()).breaker).toBe('closed');
  });

  it('pauses it again, for longer, when that fails', async () => {
    await open();
    const [first] = await wait(2);
    await limiter.limiter.endPauses([providerEntry('p')]);
    const probe = passed(await ask(first!));
    const began = performance.now();
    probe.end('failed');
    await told();
    const { breaker, openMs } = await stateOf();
    expect(breaker).toBe('open');
    // Of a time that Redis counts down in whole milliseconds.
    expect(openMs).toBeGreaterThan(2 * PAUSE_MS - (performance.now() - began + 2));
  });

  it('calls one task where several places are free, and none where nobody waits', async () => {
    const entry = providerEntry('p', { concurrency: 5 });
    await open(entry);
    expect(await limiter.limiter.endPauses([entry])).toEqual({ ended: 1, called: 0 });
    await room.redis.hset(`${room.prefix}:gate:p:breaker`, 'until', Date.now() + LONG_MS);
    const [first] = await wait(3, entry);
    expect(await limiter.limiter.endPauses([entry])).toEqual({ ended: 1, called: 1 });
    expect(await called()).toEqual([first]);
  });

  it('ends the pause of a key, too', async () => {
    passed(await ask(newTaskId())).end('key_refused', LONG_MS);
    await told();
    const id = newTaskId();
    expect(reasonOf(await ask(id))).toBe('cooling');
    await limiter.queue.add({ taskId: id, epoch: 1, delayMs: LONG_MS });
    expect(await limiter.limiter.endPauses([providerEntry('p')])).toEqual({ ended: 1, called: 1 });
    expect(await called()).toEqual([id]);
    expect((await stateOf()).cooling).toEqual(new Map());
    expect(await limiter.limiter.endPauses([providerEntry('p')])).toEqual({ ended: 0, called: 0 });
  });

  it('tests it during the pause, which ends when the test succeeds', async () => {
    await open();
    const waiting = await wait(2);
    const test = passed(await ask(newTaskId(), providerEntry('p'), true));
    expect(reasonOf(await ask(newTaskId()))).toBe('open');
    test.end('succeeded');
    expect(new Set(await called())).toEqual(new Set(waiting));
    expect((await stateOf()).breaker).toBe('closed');
  });

  it('tests a key during its pause, which only a success ends', async () => {
    passed(await ask(newTaskId())).end('key_refused', LONG_MS);
    await told();
    passed(await ask(newTaskId(), providerEntry('p'), true)).end('key_refused', LONG_MS);
    await told();
    expect(reasonOf(await ask(newTaskId()))).toBe('cooling');
    passed(await ask(newTaskId(), providerEntry('p'), true)).end('succeeded');
    await told();
    expect(reasonOf(await ask(newTaskId()))).toBeUndefined();
  });
});

import type { QueueCaller } from '#queue/fair-order.js';
import { imageJobId, taskIdOf } from '#queue/job-catalog.js';
import type { ProviderEntry } from '#providers/provider-entry.js';
import type { CallPermit } from '#routing/call-permit.js';
import { newTaskId } from '#tasks/row/task-id.js';
import {
  nextMillisecond,
  openLimiterRoom,
  providerEntry,
  type LimiterRoom,
  type OpenLimiter,
} from '../support/limiter-room.js';

/** Seconds of virtual time. */
const SWITCH = 10;
const WORK = 20;
const SERVERS = ['a', 'b', 'c', 'd'];
const JOBS = 200;
const WORKFLOWS = ['flux', 'qwen', 'sdxl'];

interface Job {
  readonly number: number;
  readonly caller: QueueCaller;
  readonly workflow: string;
  readonly arrives: number;
}

interface Outcome {
  readonly switches: number;
  /** Of each job, in seconds. */
  readonly waits: readonly number[];
}

/** The same numbers every time. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

function jobsOf({ every, accounts, seed }: { every: number; accounts: number; seed: number }): Job[] {
  const random = seeded(seed);
  return Array.from({ length: JOBS }, (_, n) => {
    const account = `account-${Math.floor(random() * accounts)}`;
    return {
      number: n,
      caller: { accountId: account, accountWeight: 1, originalKeyId: `${account}-key`, weight: 1 },
      workflow: WORKFLOWS[Math.floor(random() * WORKFLOWS.length)] ?? '',
      arrives: n * every,
    };
  });
}

/** Each job goes to the next server in turn, in the order of arrival. */
function inArrivalOrder(jobs: readonly Job[]): Outcome {
  const servers = SERVERS.map(() => ({ freeAt: 0, loaded: '' }));
  const waits: number[] = [];
  let switches = 0;
  for (const { number, workflow, arrives } of jobs) {
    const server = servers[number % servers.length]!;
    const start = Math.max(arrives, server.freeAt);
    const isSwitch = server.loaded !== workflow;
    switches += isSwitch ? 1 : 0;
    server.loaded = workflow;
    server.freeAt = start + WORK + (isSwitch ? SWITCH : 0);
    waits.push(start - arrives);
  }
  return { switches, waits };
}

describe('servers that must load a workflow before they can use it', () => {
  let room: LimiterRoom;
  let limiter: OpenLimiter;
  beforeEach(async () => {
    room = await openLimiterRoom();
    limiter = await room.limiter();
  });
  afterEach(() => room.close());

  /**
   * Runs the jobs in virtual time: the limiter chooses by what happened, and in which order. `tells`: whether it knows what
   * a server must load.
   */
  async function asTheLimiterChooses(jobs: readonly Job[], pool: string, tells: boolean): Promise<Outcome> {
    const entries = SERVERS.map((name): ProviderEntry => ({
      ...providerEntry(pool, { concurrency: 1 }),
      server: name,
    }));
    const loaded = new Map<string, string>();
    const running: { until: number; job: Job; permit: CallPermit }[] = [];
    const waits: number[] = [];
    const ids = jobs.map(() => newTaskId());
    const idOf = ({ number }: Job): string => ids[number] ?? '';
    let switches = 0;
    const ask = async (job: Job, now: number): Promise<boolean> => {
      const options = entries.map((provider) => ({ provider }));
      const asking = { caller: job.caller, jobId: imageJobId(idOf(job), 1), needs: tells ? job.workflow : '' };
      const answer = await limiter.limiter.enter(options, idOf(job), asking);
      if ('reason' in answer) return false;
      const server = answer.option.provider.server ?? '';
      const isSwitch = loaded.get(server) !== job.workflow;
      switches += isSwitch ? 1 : 0;
      loaded.set(server, job.workflow);
      running.push({ until: now + WORK + (isSwitch ? SWITCH : 0), job, permit: answer });
      waits[job.number] = now - job.arrives;
      return true;
    };
    const called = async (): Promise<string[]> => {
      await limiter.limiter.waitForReports();
      const names = (await room.redis.zrange(`${room.prefix}:images:prioritized`, '0', '-1')).map(String);
      if (names.length > 0) await room.redis.zrem(`${room.prefix}:images:prioritized`, ...names);
      return names.map(taskIdOf);
    };
    const ahead = [...jobs];
    while (ahead.length > 0 || running.length > 0) {
      running.sort((one, other) => one.until - other.until);
      const [next] = ahead;
      const [first] = running;
      if (next !== undefined && (first === undefined || next.arrives <= first.until)) {
        ahead.shift();
        await nextMillisecond(room.redis);
        if (await ask(next, next.arrives)) continue;
        await limiter.queue.add({ taskId: idOf(next), epoch: 1, delayMs: 600_000 });
        // It does not ask again in between, as it would in real time.
        await room.redis.zadd(`${room.prefix}:gate:${pool}:waits`, 'XX', Date.now() + 600_000, idOf(next));
        continue;
      }
      const ended = running.shift()!;
      ended.permit.end('succeeded');
      for (const id of await called()) {
        expect(await ask(jobs[ids.indexOf(id)]!, ended.until)).toBe(true);
      }
    }
    expect(Object.keys(waits)).toHaveLength(jobs.length);
    return { switches, waits };
  }

  it('are not preferred where the number of calls is unlimited: they are never full, so others would get nothing', async () => {
    const [a, b] = ['a', 'b'].map((name) => ({ provider: { ...providerEntry('pool'), server: name } }));
    const served = async (options: readonly { provider: ProviderEntry }[], task: string, needs: string) => {
      const answer = await limiter.limiter.enter(options, task, { needs });
      return 'reason' in answer ? answer.reason : answer.option.provider.server;
    };
    expect(await served([a!, b!], 'one', 'flux')).toBe('a');
    expect(await served([b!, a!], 'two', 'qwen')).toBe('b');
    expect(await served([b!, a!], 'three', 'flux')).toBe('b');
    expect(await served([a!, b!], 'four', 'qwen')).toBe('a');
  });

  it.each([
    { every: 0, accounts: 1, seed: 1 },
    { every: 0, accounts: 1, seed: 7 },
    { every: 5, accounts: 1, seed: 2 },
    { every: 0, accounts: 8, seed: 4 },
    { every: 5, accounts: 3, seed: 5 },
  ])('switch less than half as often, and let no job wait twice as long: %j', async (how) => {
    const jobs = jobsOf(how);
    const before = how.accounts === 1 ? inArrivalOrder(jobs) : await asTheLimiterChooses(jobs, 'in-turn', false);
    const chosen = await asTheLimiterChooses(jobs, 'pool', true);
    expect(chosen.switches / before.switches).toBeLessThanOrEqual(0.4);
    // Where a job would hardly have waited, the run of one other job may be more than twice that.
    const oneRun = how.every === 0 && how.accounts === 1 ? 0 : WORK + SWITCH;
    const late = jobs.filter(({ number }) => chosen.waits[number]! > 2 * before.waits[number]! + oneRun);
    expect(late.map(({ number }) => [number, before.waits[number], chosen.waits[number]])).toEqual([]);
    expect(sum(chosen.waits)).toBeLessThan(sum(before.waits));
  });
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

import { Worker, type Job } from 'bullmq';
import fc from 'fast-check';
import { loadConfig } from '#config/load-config.js';
import { patientConnection } from '#redis/connections.js';
import type { QueueCaller } from '#queue/fair-order.js';
import { taskIdOf } from '#queue/job-catalog.js';
import { RedisConfig } from '#redis/redis.config.js';
import { newTaskId } from '#tasks/row/task-id.js';
import { PROPERTY_TIMEOUT_MS, runs } from '../support/effort.js';
import { openTaskRoom, type TaskRoom } from '../support/task-room.js';

interface Waiting {
  readonly taskId: string;
  readonly caller: QueueCaller;
}

const anyStep = fc.record({
  kind: fc.constantFrom('add' as const, 'add' as const, 'start' as const, 'cancel' as const),
  account: fc.nat({ max: 2 }),
  key: fc.nat({ max: 2 }),
  tasks: fc.integer({ min: 1, max: 8 }),
});
const anyWeight = fc.constantFrom(1, 1, 2, 3, 7, 100);
/** Of three accounts and their three keys each. */
const anyWeights = fc.array(
  fc.record({ account: anyWeight, keys: fc.array(anyWeight, { minLength: 3, maxLength: 3 }) }),
  {
    minLength: 3,
    maxLength: 3,
  },
);

/**
 * What the order promises, without turns and priorities: for as long as two of a kind both have tasks waiting, each is
 * served as much as the other by its weight, but for one task of each.
 */
class Shares {
  private readonly served = new Map<string, Map<string, number>>();

  /** `who` has no task waiting any more: if it comes again, it is a newcomer. */
  leave(who: string): void {
    this.served.delete(who);
    for (const others of this.served.values()) others.delete(who);
  }

  /** `who` was served; `waiting` holds the weights of all that had tasks waiting then, `who` included. */
  count(who: string, waiting: ReadonlyMap<string, number>): void {
    for (const [one, others] of this.served) {
      if (!waiting.has(one)) this.served.delete(one);
      else for (const other of others.keys()) if (!waiting.has(other)) others.delete(other);
    }
    const weight = waiting.get(who) ?? 1;
    for (const [other, otherWeight] of waiting) {
      if (other === who) continue;
      const mine = this.of(who, other) + 1 / weight;
      this.served.get(who)?.set(other, mine);
      // Whole priorities round away up to a sixteenth of a round for each of both, and one for the turn that a newcomer begins at.
      expect(mine - this.of(other, who)).toBeLessThanOrEqual(1 / weight + 1 / otherWeight + 3 / 16);
    }
  }

  private of(one: string, other: string): number {
    const others = this.served.get(one) ?? new Map<string, number>();
    this.served.set(one, others);
    return others.get(other) ?? 0;
  }
}

describe('the fair order, whatever comes and goes', () => {
  let room: TaskRoom;
  let connection: ReturnType<typeof patientConnection>;
  let worker: Worker;
  beforeAll(async () => {
    room = await openTaskRoom();
    const [config] = loadConfig([RedisConfig], { REDIS_URL: room.redisUrl, REDIS_PREFIX: room.prefix });
    connection = patientConnection(config, 'test', room.logger);
    worker = new Worker('images', undefined, { connection, prefix: room.prefix });
  });
  afterAll(async () => {
    await worker.close();
    connection.disconnect();
    await room.close();
  });

  /** Starts the next job and answers with the task it is for; undefined when no job is left. */
  async function next(): Promise<string | undefined> {
    const job = (await worker.getNextJob('token', { block: false })) as Job | undefined;
    if (job === undefined) return undefined;
    const task = await room.order.served(job.id ?? '');
    await job.moveToCompleted('', 'token', false);
    return task === undefined ? '' : taskIdOf(task.id);
  }

  const weightsOf = (waiting: readonly Waiting[], by: (caller: QueueCaller) => [string, number]) =>
    new Map(waiting.map(({ caller }) => by(caller)));

  it(
    'H6: accounts share by weight, keys share what their account gets, and every task is served once, in its key’s order',
    async () => {
      await fc.assert(
        fc.asyncProperty(anyWeights, fc.array(anyStep, { minLength: 4, maxLength: 24 }), async (weights, steps) => {
          for (const key of await room.redis.keys(`${room.prefix}:*`)) await room.redis.del(key);
          const waiting: Waiting[] = [];
          const accounts = new Shares();
          const keys = new Map<string, Shares>();
          // A key that cancels keeps its later places, which is its own loss.
          const cancels = steps.some(({ kind }) => kind === 'cancel');
          const serve = async (): Promise<void> => {
            const id = await next();
            const task = waiting.find(({ taskId }) => taskId === id);
            if (task === undefined) throw new Error(`served ${id ?? 'nobody'}, who does not wait`);
            const { accountId, originalKeyId } = task.caller;
            const siblings = waiting.filter(({ caller }) => caller.accountId === accountId);
            expect(siblings.find(({ caller }) => caller.originalKeyId === originalKeyId)).toBe(task);
            accounts.count(
              accountId,
              weightsOf(waiting, (caller) => [caller.accountId, caller.accountWeight]),
            );
            const shares = keys.get(accountId) ?? new Shares();
            keys.set(accountId, shares);
            if (!cancels)
              shares.count(
                originalKeyId,
                weightsOf(siblings, (caller) => [caller.originalKeyId, caller.weight]),
              );
            waiting.splice(waiting.indexOf(task), 1);
          };
          for (const { kind, account, key, tasks } of steps) {
            const { account: accountWeight = 1, keys: keyWeights = [] } = weights[account] ?? {};
            const accountId = `a${account}`;
            const caller = {
              accountId,
              accountWeight,
              originalKeyId: `${accountId}k${key}`,
              weight: keyWeights[key] ?? 1,
            };
            if (kind === 'add') {
              const added = Array.from({ length: tasks }, () => ({ taskId: newTaskId(), epoch: 0, caller }));
              await room.queue.addAll(added);
              waiting.push(...added);
            } else if (kind === 'cancel') {
              const own = waiting.filter(({ caller: owner }) => owner.accountId === accountId).slice(0, tasks);
              for (const task of own) {
                await room.queue.remove({ ...task, epoch: 0 });
                waiting.splice(waiting.indexOf(task), 1);
              }
              if (!waiting.some(({ caller: owner }) => owner.accountId === accountId)) accounts.leave(accountId);
            } else for (let n = Math.min(tasks, waiting.length); n > 0; n--) await serve();
          }
          while (waiting.length > 0) await serve();
          expect(await next()).toBeUndefined();
          expect(await room.redis.hlen(`${room.prefix}:accounts`)).toBe(0);
        }),
        runs(60),
      );
    },
    PROPERTY_TIMEOUT_MS,
  );
});

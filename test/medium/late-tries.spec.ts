import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { waitUntil } from '#embedded/wait-until.js';
import type { Intake } from '#tasks/intake/attach-task.js';
import { LostCallers } from '#tasks/intake/lost-callers.js';
import { CallerGone } from '#tasks/intake/open-call.js';
import type { RequestIdentity } from '#tasks/intake/request-identity.js';
import type { TaskIntake } from '#tasks/intake/task-intake.js';
import { newRequestId } from '#tasks/row/task-id.js';
import type { TaskCommand } from '#tasks/row/task.js';
import type { Redis } from 'ioredis';
import { command, newIntake, openTaskRoom, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;

/** A caller whose request arrived a while ago, and who may leave. */
class Caller {
  private readonly here = new AbortController();
  private readonly since = performance.now();

  constructor(private readonly arrivedMsAgo = 0) {}

  readonly call = { gone: this.here.signal, ageMs: () => this.arrivedMsAgo + performance.now() - this.since };

  leave(): void {
    this.here.abort();
  }
}

/**
 * A try that stalls between two steps of its acceptance, and the next try of the same call, which did not wait for it: one
 * task is made, whichever the database sees first.
 */
describe('a try that is late', () => {
  let room: TaskRoom;
  /** Stalls intake in the middle of its statements: they wait for locks of this connection. */
  let holder: pg.Client;
  let processes: { intake: TaskIntake; lost: LostCallers; presence: Redis; name: string; answers: boolean }[];
  let count = 0;

  beforeAll(async () => {
    room = await openTaskRoom();
    holder = new pg.Client({ connectionString: room.databaseUrl });
    await holder.connect();
  });
  afterAll(async () => {
    await holder.end();
    await room.close();
  });
  beforeEach(async () => {
    processes = await Promise.all(
      ['a', 'b'].map(async () => {
        const lost = new LostCallers(room.redis, room.redisConfig, room.database);
        const name = (lost.waiter = `late${++count}`);
        const presence = room.redis.duplicate({ enableOfflineQueue: true });
        await presence.subscribe(lost.channelOf(name));
        const { intake, departed } = newIntake(room.database, room.tasksConfig, lost);
        const one = { intake, lost, presence, name, answers: true };
        presence.on('message', (_channel, text) => {
          if (one.answers) void lost.receive(text, (fingerprint) => departed.waitForAllMarks(fingerprint));
        });
        return one;
      }),
    );
  });
  afterEach(() => {
    for (const { presence } of processes) presence.disconnect();
  });

  const unkeyed = (fingerprint: Buffer, retry: number, counted = true): RequestIdentity => ({
    kind: 'unkeyed',
    retry,
    counted,
    fingerprint,
  });
  const take = (process: number, identity: RequestIdentity, caller?: Caller, changes: Partial<TaskCommand> = {}) =>
    processes[process]!.intake.take(command(changes), DEADLINE_MS, identity, caller?.call);
  const rowsOf = async (fingerprint: Buffer): Promise<string[]> => {
    const { rows } = await room.sql('SELECT id FROM tasks WHERE fingerprint = $1', [fingerprint]);
    return (rows as { id: string }[]).map(({ id }) => id);
  };
  /** How many statements of intake wait for a lock. */
  const waiting = async (): Promise<number> => {
    const { rows } = await room.sql(
      `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return (rows as { count: number }[])[0]?.count ?? 0;
  };
  const untilWaiting = async (statements: number): Promise<void> => {
    expect(await waitUntil(async () => (await waiting()) >= statements, { timeoutMs: 20_000, everyMs: 10 })).toBe(true);
  };
  const stalled = async (statement: string, work: () => Promise<void>): Promise<void> => {
    await holder.query('BEGIN');
    await holder.query(statement);
    await work().finally(() => holder.query('COMMIT'));
  };
  const TABLE = 'LOCK TABLE tasks IN SHARE MODE';

  describe.each([
    ['a sync call', {}],
    ['an async call', { asynchronous: true }],
  ])('of %s by a client that counts', (_name, changes) => {
    it.each([0, 1])('gets the task that its retry has made meanwhile at API %i', async (other) => {
      const fingerprint = randomBytes(32);
      const retry = await take(other, unkeyed(fingerprint, 1), new Caller(), changes);
      const late = await take(0, unkeyed(fingerprint, 0), new Caller(60_000), changes);
      expect([retry.attached, late.attached, late.task.id]).toEqual([false, true, retry.task.id]);
      expect(await rowsOf(fingerprint)).toEqual([retry.task.id]);
    });

    it.each([0, 1])('is one with its retry at API %i while Postgres takes no writes', async (other) => {
      const fingerprint = randomBytes(32);
      let taken: Promise<Intake[]> = Promise.resolve([]);
      await stalled(TABLE, async () => {
        const first = take(0, unkeyed(fingerprint, 0), new Caller(), changes);
        await untilWaiting(1);
        taken = Promise.all([first, take(other, unkeyed(fingerprint, 1), new Caller(), changes)]);
        await untilWaiting(2);
      });
      expect(new Set((await taken).map(({ task }) => task.id)).size).toBe(1);
      expect(await rowsOf(fingerprint)).toHaveLength(1);
    });

    it('does not insert while its retry is between two statements', async () => {
      const fingerprint = randomBytes(32);
      const lock = `SELECT pg_advisory_xact_lock(hashtextextended('${command().apiKeyId}' || ' ' || '${fingerprint.toString('hex')}', 0))`;
      let late: Promise<Intake> | undefined;
      await stalled(lock, async () => {
        late = take(0, unkeyed(fingerprint, 0), new Caller(60_000), changes);
        await untilWaiting(1);
        expect(await rowsOf(fingerprint)).toEqual([]);
        // What a retry does with the lock.
        await holder.query(
          `INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, fingerprint, deadline_at, attached_by)
            VALUES ($1, $2, $3, $4, 'generation', 'gpt-image-2', 'x', '{}', $5, now() + interval '1 hour', $4)`,
          [command().id, command().accountId, command().apiKeyId, newRequestId(), fingerprint],
        );
      });
      expect((await late)?.attached).toBe(true);
      expect(await rowsOf(fingerprint)).toHaveLength(1);
    });

    it('gets its retry’s task even when that has ended and was delivered', async () => {
      const fingerprint = randomBytes(32);
      const retry = await take(1, unkeyed(fingerprint, 1), new Caller(), changes);
      await finish(retry);
      const late = await take(0, unkeyed(fingerprint, 0), new Caller(60_000), changes);
      expect([late.attached, late.task.id]).toEqual([true, retry.task.id]);
    });

    it('as a retry gets what a later retry has made and was given', async () => {
      const fingerprint = randomBytes(32);
      const last = await take(1, unkeyed(fingerprint, 2), new Caller(), changes);
      await finish(last);
      const late = await take(0, unkeyed(fingerprint, 1), new Caller(60_000), changes);
      expect([late.attached, late.task.id]).toEqual([true, last.task.id]);
    });
  });

  it('leaves the next equal call, which arrives after the retry was answered, a task of its own', async () => {
    const fingerprint = randomBytes(32);
    const retry = await take(0, unkeyed(fingerprint, 1), new Caller());
    await finish(retry);
    expect((await take(0, unkeyed(fingerprint, 0), new Caller(0))).attached).toBe(false);
    expect((await take(0, unkeyed(fingerprint, 1), new Caller(0))).attached).toBe(true);
  });

  it('leaves equal first tries that stall together a task each', async () => {
    const fingerprint = randomBytes(32);
    let taken: Promise<Intake[]> = Promise.resolve([]);
    await stalled(TABLE, async () => {
      taken = Promise.all([0, 1, 0, 1].map((at) => take(at, unkeyed(fingerprint, 0), new Caller(1_000))));
      await untilWaiting(1);
    });
    expect(new Set((await taken).map(({ task }) => task.id)).size).toBe(4);
  });

  it('takes its row back when it learns late that a retry has one', async () => {
    const fingerprint = randomBytes(32);
    let age = 0;
    const late = { gone: new AbortController().signal, ageMs: () => age };
    let taken: Promise<Intake> | undefined;
    await stalled(TABLE, async () => {
      taken = processes[0]!.intake.take(command(), DEADLINE_MS, unkeyed(fingerprint, 0), late);
      await untilWaiting(1);
      const since = performance.now();
      // The statement said that it was new, and was on its way for longer than Postgres allows for.
      age = 60_000;
      await holder.query(
        `INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, fingerprint, deadline_at, attached_by, created_at)
          VALUES ($1, $2, $3, $4, 'generation', 'gpt-image-2', 'x', '{}', $5, now() + interval '1 hour', $4, now() - interval '10 seconds')`,
        [command().id, command().accountId, command().apiKeyId, newRequestId(), fingerprint],
      );
      expect(await waitUntil(async () => performance.now() - since > 300, { timeoutMs: 20_000, everyMs: 10 })).toBe(
        true,
      );
    });
    expect((await taken)?.attached).toBe(true);
    expect(await rowsOf(fingerprint)).toHaveLength(1);
  });

  describe.each([true, false])('whose caller has left (counted: %s)', (counted) => {
    it('makes no task', async () => {
      const fingerprint = randomBytes(32);
      const caller = new Caller(60_000);
      caller.leave();
      for (const identity of [
        unkeyed(fingerprint, 0, counted),
        { kind: 'keyed', key: `left-${++count}`, fingerprint } as const,
      ])
        await expect(take(0, identity, caller)).rejects.toBeInstanceOf(CallerGone);
      expect(await rowsOf(fingerprint)).toEqual([]);
    });

    it.each([
      ['the same API', 0, {}],
      ['another API', 1, {}],
      ['the same API, async', 0, { asynchronous: true }],
      ['another API, async', 1, { asynchronous: true }],
    ])('while its row is written leaves its task to an equal request at %s', async (_name, other, changes) => {
      const fingerprint = randomBytes(32);
      const caller = new Caller();
      let taken: Promise<(Intake | undefined)[]> = Promise.resolve([]);
      await stalled(TABLE, async () => {
        const first = take(0, unkeyed(fingerprint, 0, counted), caller, changes).catch((error: unknown) => {
          expect(error).toBeInstanceOf(CallerGone);
          return undefined;
        });
        await untilWaiting(1);
        caller.leave();
        const again = take(other, unkeyed(fingerprint, 0, counted), new Caller(), changes);
        taken = Promise.all([first, again]);
        if (other === 1) await untilWaiting(2);
      });
      // The first has made no task if the other's row was written before its own.
      const [first, again] = await taken;
      expect(await rowsOf(fingerprint)).toEqual([again?.task.id]);
      expect(first === undefined || first.task.id === again?.task.id).toBe(true);
    });
  });

  it.each([
    ['answers that its caller waits', true, {}, false],
    ['answers, after its caller got the task', true, { asynchronous: true }, false],
    ['is paused', false, {}, true],
    ['is paused before it could answer with the task', false, { asynchronous: true }, true],
  ])('leaves an equal request its task when its process %s: %s', async (_name, answers, changes, attached) => {
    const fingerprint = randomBytes(32);
    const first = await take(0, unkeyed(fingerprint, 0, false), new Caller(), changes);
    processes[0]!.answers = answers;
    const again = await take(1, unkeyed(fingerprint, 0, false), new Caller(), changes);
    expect([again.attached, again.task.id === first.task.id]).toEqual([attached, attached]);
  });

  async function finish({ task }: Intake): Promise<void> {
    await room.sql(
      `UPDATE tasks SET status = 'completed', phase = 'done', finished_at = now(), delivered_at = now() WHERE id = $1`,
      [task.id],
    );
  }
});

import { waitUntil } from '#embedded/wait-until.js';
import { gradientImage } from '#images/sample-images.fixture.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { callersOf, newMarker, type Outcome } from '../support/fault-callers.js';
import { FaultRoom } from '../support/fault-room.js';
import { readAudit } from '../support/audit.js';
import { patientSetting } from '../support/patience.js';
import { LONG_TIMEOUTS } from '../support/platform.js';

async function photo(): Promise<string> {
  return `data:image/png;base64,${(await gradientImage(128, 128, 'png')).toString('base64')}`;
}

/** Longer than a worker beside a busy suite may be kept from its renewal, which would end its tasks. */
const LEASE_MS = Number(patientSetting(1_700, 20_000));

/** Postgres is the truth: without it nothing is accepted, and what was accepted is not lost with it. */
describe('Postgres', () => {
  let provider: LedgerProvider;
  let room: FaultRoom;
  let callers: ReturnType<typeof callersOf>;

  beforeAll(async () => {
    provider = await LedgerProvider.start();
    room = await FaultRoom.open({
      settings: {
        OPENAI_API_KEY: 'sk-ledger-secret-key',
        LEASE_MS: String(LEASE_MS),
        SWEEP_INTERVAL_MS: '500',
        // A silent Postgres is given up sooner, though not as soon as a busy disk may take to flush a commit.
        DATABASE_CONNECT_TIMEOUT_MS: '1000',
        DATABASE_QUERY_TIMEOUT_MS: '3000',
      },
      links: { provider: { setting: 'OPENAI_BASE_URL', url: provider.url } },
    });
    callers = callersOf(room);
  });
  afterAll(async () => {
    await room.close();
    await provider.close();
  });
  afterEach(() => {
    room.breakLinks('postgres', 'pass');
  });

  const refused = ({ status, body, headers }: Outcome) => ({ status, body, retry: headers.get('x-should-retry') });
  const overloaded = {
    status: 503,
    retry: 'true',
    body: { type: 'error', error: { code: 'server_is_overloaded' } },
  };

  it('frozen: new work is turned away in time, and none of it runs once Postgres is back', async () => {
    await openConnections();
    const key = await freshKey();
    room.api.link('postgres').fault = 'black-hole';
    const markers = Array.from({ length: 8 }, newMarker);
    const outcomes = await Promise.all(markers.map((marker) => callers.submit(marker, { key })));
    for (const outcome of outcomes) expect(refused(outcome)).toMatchObject(overloaded);
    room.api.link('postgres').fault = 'pass';
    await callers.untilAccepted();
    // A statement that was on its way arrives now, and with it the request to cancel it: whichever is first, nobody
    // asked for what it makes.
    await expectNoneRuns(markers);
  });

  it('its answers lost: what was turned away is taken back, though it was committed', async () => {
    const isRetracted = (): boolean => room.api.running.logs().some(({ event }) => event === 'task.retracted');
    const isTakenBack = async (): Promise<boolean> => {
      await openConnections();
      const key = await freshKey();
      room.api.link('postgres').fault = 'mute';
      const markers = Array.from({ length: 3 }, newMarker);
      const outcomes = await Promise.all(markers.map((marker) => callers.submit(marker, { key })));
      for (const outcome of outcomes) expect(refused(outcome)).toMatchObject(overloaded);
      room.api.link('postgres').fault = 'pass';
      await callers.untilAccepted();
      const isDone = await waitUntil(isRetracted, { timeoutMs: 20_000 });
      await expectNoneRuns(markers);
      return isDone;
    };
    // A key that a busy machine uses too late is looked up again, and nothing is committed: then again.
    expect(await waitUntil(isTakenBack, { timeoutMs: 60_000 })).toBe(true);
  });

  describe('that answers however slowly', () => {
    // A caller that is turned away because a busy machine has exceeded this room's limits is none of these.
    const restart = async (changes: Readonly<Record<string, string>>): Promise<void> => {
      await room.api.stop();
      await room.api.start(changes);
    };
    beforeAll(() => restart(LONG_TIMEOUTS));
    afterAll(() => restart({}));

    it.each([
      ['refuses one', `RAISE EXCEPTION 'not this one' USING ERRCODE = '23514'`, 1],
      ['is reset in the middle', 'PERFORM pg_terminate_backend(pg_backend_pid())', 8],
    ])('%s of many new tasks of one moment: each caller is told what became of its own', async (_fault, harm, most) => {
      await openConnections();
      const key = await freshKey();
      // Fewer than the pool has connections: what fails together is tried again alone, and none should wait for one.
      const markers = Array.from({ length: 8 }, newMarker);
      const harmed = markers[5] ?? '';
      await room.pool.query(`CREATE FUNCTION test_harm() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW.prompt = '${harmed}' THEN ${harm}; END IF; RETURN NEW; END $$`);
      await room.pool.query(
        'CREATE TRIGGER test_harm BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION test_harm()',
      );
      const outcomes = await Promise.all(markers.map((marker) => callers.submit(marker, { key })));
      await room.pool.query('DROP FUNCTION test_harm CASCADE');
      const accepted = outcomes.filter(({ status }) => status === 202);
      expect(outcomes.length - accepted.length).toBeLessThanOrEqual(most);
      expect(refused(outcomes[5] as Outcome)).toMatchObject(overloaded);
      expect(await callers.ended(accepted.map(({ taskId }) => taskId ?? ''))).toEqual(accepted.map(() => 'completed'));
      const rows = await Promise.all(markers.map((marker) => callers.rowsOf(marker)));
      expect(rows.map(({ length }) => length)).toEqual(outcomes.map(({ status }) => (status === 202 ? 1 : 0)));
    });
  });

  it.each(['black-hole', 'mute'] as const)(
    '%s: a retry of an SDK, or with a key, never makes a second task, and finds its images',
    async (fault) => {
      const key = await freshKey();
      const counted = newMarker();
      const keyed = newMarker();
      const edit = { model: 'gpt-image-2', images: [{ image_url: await photo() }] };
      const attempt = (retry: number) =>
        callers.ask('/v1/images/edits', {
          key,
          body: { ...edit, prompt: counted },
          headers: { 'x-stainless-retry-count': String(retry) },
        });
      const withKey = () =>
        callers.ask('/v1/images/edits', {
          key,
          body: { ...edit, prompt: keyed },
          headers: { 'idempotency-key': keyed },
        });
      room.api.link('postgres').fault = fault;
      expect((await Promise.all([attempt(0), withKey()])).map(({ status }) => status)).toEqual([503, 503]);
      const retries = Promise.all([untilTaken(attempt), untilTaken(withKey)]);
      room.api.link('postgres').fault = 'pass';
      expect((await retries).map(({ status }) => status)).toEqual([200, 200]);
      // The first call's row may come after the retry has looked for it; nobody asked for it, so it is deleted again.
      const isAlone = async (): Promise<boolean> => (await callers.rowsOf(counted)).length === 1;
      expect(await waitUntil(isAlone, { timeoutMs: 20_000 })).toBe(true);
      expect([counted, keyed].map((marker) => provider.startsOf(marker).length)).toEqual([1, 1]);
      expect(await callers.rowsOf(counted)).toMatchObject([{ status: 'completed', provider_starts: 1 }]);
      expect(await callers.rowsOf(keyed)).toMatchObject([{ status: 'completed', provider_starts: 1 }]);
    },
  );

  describe('an equal request of a client that counts no tries', () => {
    let marker: string;
    let finish: () => void;
    let leave: () => Promise<unknown>;

    /** A caller waits for an image that is being made. */
    beforeEach(async () => {
      marker = newMarker();
      provider.plan(marker, { until: new Promise<void>((resolve) => (finish = resolve)) });
      const leaving = new AbortController();
      const call = untilTaken(() => callers.generate(marker, { signal: leaving.signal }));
      leave = () => {
        leaving.abort();
        return call;
      };
      expect(await waitUntil(() => provider.startsOf(marker).length === 1, { timeoutMs: 20_000 })).toBe(true);
    });

    const expectOneImage = async (): Promise<void> => {
      finish();
      expect(await untilTaken(() => callers.generate(marker))).toMatchObject({ status: 200 });
      expect(await callers.rowsOf(marker)).toMatchObject([{ status: 'completed', provider_starts: 1 }]);
      expect(provider.startsOf(marker)).toHaveLength(1);
    };

    it('gets the task of a caller that has left while Postgres was killed', async () => {
      const notMarked = (): number =>
        room.api.running.logs().filter(({ event }) => event === 'delivery.not_marked').length;
      const before = notMarked();
      await room.killPostgres();
      // Its image is kept then, even if Postgres stays away for longer than a lease.
      finish();
      await leave();
      expect(await waitUntil(() => notMarked() > before, { timeoutMs: 30_000 })).toBe(true);
      await room.restartPostgres();
      await expectOneImage();
    });

    it('gets a task that one before has attached to, without an answer', async () => {
      await openConnections();
      const [row] = await callers.rowsOf(marker);
      await leave();
      const left = 'SELECT FROM tasks WHERE id = $1 AND abandoned_at IS NOT NULL';
      const hasLeft = async () => (await room.pool.query(left, [row?.id])).rowCount === 1;
      expect(await waitUntil(hasLeft, { timeoutMs: 20_000 })).toBe(true);
      const holder = await room.pool.connect();
      await holder.query('BEGIN');
      await holder.query('SELECT FROM tasks WHERE id = $1 FOR UPDATE', [row?.id]);
      const waits = `SELECT FROM pg_stat_activity
        WHERE application_name LIKE 'darkroom api %' AND wait_event_type = 'Lock' AND query LIKE 'UPDATE%attached_by%'`;
      const attaches = async () => (await room.pool.query(waits)).rowCount === 1;
      let attaching = Promise.resolve<Outcome | undefined>(undefined);
      // The statement waits for as long as this room lets it; where it was not seen in that time, another one is made.
      const isCaught = async (): Promise<boolean> => {
        let isOver = false;
        attaching = callers.generate(marker).finally(() => (isOver = true));
        await waitUntil(async () => isOver || (await attaches()), { timeoutMs: 20_000, everyMs: 20 });
        return !isOver;
      };
      expect(await waitUntil(isCaught, { timeoutMs: 60_000 })).toBe(true);
      room.api.link('postgres').fault = 'mute';
      await holder.query('COMMIT');
      holder.release();
      expect(refused((await attaching) as Outcome)).toMatchObject(overloaded);
      room.api.link('postgres').fault = 'pass';
      await expectOneImage();
    });
  });

  it('killed for longer than a lease: images that were made meanwhile are not given up', async () => {
    const markers = Array.from({ length: 4 }, newMarker);
    for (const marker of markers) provider.plan(marker, { latencyMs: 1_500 });
    const accepted = await Promise.all(markers.map((marker) => untilTaken(() => callers.submit(marker))));
    const started = (): boolean => markers.every((marker) => provider.startsOf(marker).length === 1);
    expect(await waitUntil(started, { timeoutMs: 20_000 })).toBe(true);
    await room.killPostgres();
    const isTooLong = performance.now() + 1.5 * LEASE_MS;
    expect(await waitUntil(() => performance.now() > isTooLong, { timeoutMs: 30_000 })).toBe(true);
    await room.restartPostgres();
    expect(await callers.ended(accepted.map(({ taskId }) => taskId ?? ''))).toEqual(markers.map(() => 'completed'));
    for (const marker of markers) expect(provider.startsOf(marker)).toHaveLength(1);
  });

  it('killed: held callers and accepted tasks outlive it, and it is found again by itself', async () => {
    const waiting = newMarker();
    const marker = newMarker();
    provider.plan(waiting, { latencyMs: 4_000 });
    provider.plan(marker, { latencyMs: 2_000 });
    const { pid } = room.api.running;
    await openConnections();
    let calls = 0;
    const held = untilTaken(() => {
      calls++;
      return callers.generate(waiting);
    });
    const accepted = await untilTaken(() => callers.submit(marker));
    expect(accepted.status).toBe(202);
    // The held caller is accepted too, however slow the machine.
    const started = (): boolean => [waiting, marker].every((one) => provider.startsOf(one).length === 1);
    expect(await waitUntil(started, { timeoutMs: 20_000 })).toBe(true);
    const callsBefore = calls;
    await room.killPostgres();
    const turnedAway = await callers.submit('while it is gone');
    expect(refused(turnedAway)).toMatchObject(overloaded);
    await room.restartPostgres();
    await callers.untilAccepted();
    expect(await held).toMatchObject({ status: 200 });
    expect(calls).toBe(callsBefore);
    expect(await callers.ended([accepted.taskId ?? ''])).toEqual(['completed']);
    expect(provider.startsOf(marker)).toHaveLength(1);
    expect(room.api.running.pid).toBe(pid);
    expect((await callers.ask('/healthz')).status).toBe(200);
  });

  /** A lease that ended before its image is written would give the task to another attempt. */
  const useLongLeases = async (): Promise<void> => {
    await room.worker.stop();
    await room.worker.start({ LEASE_MS: '60000' });
  };

  it.each(['reset', 'black-hole', 'mute'] as const)(
    '%s just when an image is finished: it is not lost, nor bought again',
    async (fault) => {
      const isCarriedOut = async (): Promise<boolean> => {
        await openConnections();
        const marker = newMarker();
        let finish = (): void => undefined;
        provider.plan(marker, { until: new Promise<void>((resolve) => (finish = resolve)) });
        const { taskId = '' } = await untilTaken(() => callers.submit(marker));
        expect(await waitUntil(() => provider.startsOf(marker).length === 1, { timeoutMs: 20_000 })).toBe(true);
        room.worker.link('postgres').fault = fault;
        // At once: what else the worker asks of Postgres uses its open connections up.
        finish();
        const unanswered = (): boolean =>
          room.worker.running
            .logs()
            .some((line) => line['event'] === 'task.not_completed' && line['taskId'] === taskId);
        expect(await waitUntil(unanswered, { timeoutMs: 30_000 })).toBe(true);
        // Carried out, and the worker does not know.
        const isKept = fault !== 'mute' || (await callers.ended([taskId], 5_000))[0] === 'completed';
        room.worker.link('postgres').fault = 'pass';
        expect(await callers.ended([taskId])).toEqual(['completed']);
        expect(provider.startsOf(marker)).toHaveLength(1);
        const completed = (line: Record<string, unknown>): boolean =>
          line['event'] === 'task.completed' && line['taskId'] === taskId;
        expect(await waitUntil(() => room.worker.running.logs().some(completed), { timeoutMs: 20_000 })).toBe(true);
        const url = (await callers.read(taskId))?.result?.images[0]?.url[0] ?? '';
        expect((await fetch(url)).headers.get('content-type')).toBe('image/png');
        return isKept;
      };
      // A slow worker may have no open connection left for a mute Postgres, and a new one gets no answer either: then again.
      await useLongLeases();
      try {
        expect(await waitUntil(isCarriedOut, { timeoutMs: 120_000 })).toBe(true);
      } finally {
        await room.worker.stop();
        await room.worker.start();
      }
    },
  );

  describe('what it does to many tasks at one moment', () => {
    let markers: readonly string[];
    let taskIds: readonly string[];
    let release: () => void;

    /** Six tasks whose images are made at once, when `release` is called. */
    beforeEach(async () => {
      markers = Array.from({ length: 6 }, newMarker);
      const until = new Promise<void>((resolve) => (release = resolve));
      for (const marker of markers) provider.plan(marker, { until });
    });
    afterEach(async () => {
      release();
      await room.pool.query('DROP FUNCTION IF EXISTS test_crash CASCADE');
      await room.pool.query('DROP SEQUENCE IF EXISTS test_crashes');
    });

    const submitAll = async (): Promise<void> => {
      const accepted = await Promise.all(markers.map((marker) => untilTaken(() => callers.submit(marker))));
      taskIds = accepted.map(({ taskId = '' }) => taskId);
    };
    const untilStarted = async (): Promise<void> => {
      const started = (): boolean => markers.every((marker) => provider.startsOf(marker).length === 1);
      expect(await waitUntil(started, { timeoutMs: 30_000 })).toBe(true);
    };
    /** Runs a statement for some of the rows that are written; what it counts is not taken back with the rest. */
    const onWrite = async (when: string, then: string): Promise<void> => {
      await room.pool.query('CREATE SEQUENCE test_crashes');
      await room.pool.query(`CREATE FUNCTION test_crash() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF ${when} THEN ${then} END IF; RETURN NEW; END $$`);
      await room.pool.query(
        'CREATE TRIGGER test_crash BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION test_crash()',
      );
    };
    /** Each has ended once, with the one image that was bought for it. */
    const judge = async (): Promise<void> => {
      expect(await callers.ended(taskIds)).toEqual(markers.map(() => 'completed'));
      expect(markers.map((marker) => provider.startsOf(marker).length)).toEqual(markers.map(() => 1));
      const ends = (await readAudit(room.pool, taskIds)).filter((line) => line.statusBefore !== line.status);
      expect(ends.filter(({ status }) => status !== 'pending')).toHaveLength(markers.length);
      for (const id of taskIds) {
        const url = (await callers.read(id))?.result?.images[0]?.url[0] ?? '';
        expect((await fetch(url)).headers.get('content-type')).toBe('image/png');
      }
    };

    it.each([
      ['claims', 'NEW.attempt > OLD.attempt'],
      ['starts', 'NEW.provider_starts > OLD.provider_starts'],
      ['completions', `NEW.status = 'completed'`],
    ])(
      'its session killed in the middle of %s: all of them are done again, and nothing is bought twice',
      async (_, when) => {
        await onWrite(
          when,
          `IF nextval('test_crashes') = 3 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;`,
        );
        await submitAll();
        release();
        await judge();
      },
    );

    it('one of them refused: the others end, and it does when it may', async () => {
      await openConnections();
      const refused = `NEW.status = 'completed' AND NEW.prompt = '${markers[3]}' AND nextval('test_crashes') <= 4`;
      await onWrite(refused, `RAISE EXCEPTION 'refused';`);
      await submitAll();
      await untilStarted();
      release();
      const others = taskIds.filter((_id, index) => index !== 3);
      expect(await callers.ended(others)).toEqual(others.map(() => 'completed'));
      await judge();
    });

    it.each(['reset', 'mute'] as const)(
      '%s when they are to be completed: each is, and none is bought again',
      async (fault) => {
        await useLongLeases();
        await openConnections();
        await submitAll();
        await untilStarted();
        room.worker.link('postgres').fault = fault;
        release();
        const unanswered = (): boolean => {
          const lines = room.worker.running.logs().filter((line) => line['event'] === 'task.not_completed');
          return taskIds.every((id) => lines.some((line) => line['taskId'] === id));
        };
        expect(await waitUntil(unanswered, { timeoutMs: 30_000 })).toBe(true);
        room.worker.link('postgres').fault = 'pass';
        await judge();
      },
    );

    it('the worker killed while they are completed: the next one finds what was written, and buys nothing again', async () => {
      await useLongLeases();
      await openConnections();
      await submitAll();
      await untilStarted();
      room.worker.link('postgres').fault = 'mute';
      release();
      // Each statement uses an open connection of a mute Postgres up. Where images are finished slowly, there are too few.
      if ((await callers.ended(taskIds, 5_000)).includes('pending')) room.worker.link('postgres').fault = 'pass';
      expect(await callers.ended(taskIds)).toEqual(markers.map(() => 'completed'));
      await room.worker.kill();
      room.worker.link('postgres').fault = 'pass';
      await room.worker.start();
      await judge();
    });
  });

  it('out of a worker’s reach for longer than its lease: the task ends once, and is not bought again', async () => {
    const marker = newMarker();
    provider.plan(marker, { latencyMs: 6 * LEASE_MS });
    const { taskId = '' } = await untilTaken(() => callers.submit(marker));
    expect(await waitUntil(() => provider.startsOf(marker).length === 1, { timeoutMs: 20_000 })).toBe(true);
    room.worker.link('postgres').fault = 'black-hole';
    // The worker lets go by its own clock, the sweep of the API takes the task back by the database's.
    const released = (): boolean =>
      room.worker.running.logs().some((line) => line['event'] === 'task.lease_lost' && line['taskId'] === taskId);
    expect(await waitUntil(released, { timeoutMs: 30_000 })).toBe(true);
    room.worker.link('postgres').fault = 'pass';
    expect(await callers.ended([taskId])).toEqual(['failed']);
    expect((await callers.read(taskId))?.error?.code).toBe('interrupted');
    const lines = await readAudit(room.pool, [taskId]);
    expect(lines.filter((line) => line.statusBefore === 'pending' && line.status !== 'pending')).toHaveLength(1);
    expect(provider.startsOf(marker)).toHaveLength(1);
  });

  /** So many that a statement is on its way when Postgres falls silent, and not only the wish for a connection. */
  async function openConnections(): Promise<void> {
    await Promise.all(Array.from({ length: 8 }, () => callers.generate(newMarker())));
    const ofApi = `SELECT pid FROM pg_stat_activity
      WHERE application_name LIKE 'darkroom api %' AND wait_event_type = 'Lock'`;
    // On a fast machine few of them are needed, because each is free again in a moment. These reads last longer.
    const client = await room.pool.connect();
    try {
      const opened = async (): Promise<boolean> => {
        await client.query('BEGIN; LOCK TABLE tasks');
        const reads = Array.from({ length: 12 }, () => callers.ask('/v1/tasks'));
        // Of ten. A busy machine may need longer for a new one than the second that this room gives it.
        const waiting = async (): Promise<boolean> => (await room.pool.query(ofApi)).rows.length >= 9;
        const isOpen = await waitUntil(waiting, { timeoutMs: 1_500, everyMs: 20 });
        await client.query('COMMIT');
        await Promise.all(reads);
        return isOpen;
      };
      expect(await waitUntil(opened, { timeoutMs: 60_000 })).toBe(true);
    } finally {
      client.release();
    }
  }

  /** A key that the API has just read, and will not read again before it writes the task. */
  async function freshKey(): Promise<string> {
    const key = await room.newKey('fresh');
    // Under these time limits, a busy machine may not find it at once.
    const isRead = async (): Promise<boolean> => (await callers.ask('/v1/models', { key })).status === 200;
    expect(await waitUntil(isRead, { timeoutMs: 20_000 })).toBe(true);
    return key;
  }

  /** As SDKs do: a retry that met the frozen server too is told so, and comes again. */
  async function untilTaken(again: (retry: number) => Promise<Outcome>): Promise<Outcome> {
    for (let retry = 1; ; retry++) {
      const outcome = await again(retry);
      if (outcome.status !== 503 || retry === 50) return outcome;
    }
  }

  /** A statement that was on its way is carried out all the same; what it has made is gone before a worker sees it. */
  async function expectNoneRuns(markers: readonly string[]): Promise<void> {
    const rows = async () => (await Promise.all(markers.map((marker) => callers.rowsOf(marker)))).flat();
    expect(await waitUntil(async () => (await rows()).length === 0, { timeoutMs: 20_000 })).toBe(true);
    const { rows: begun } = await room.pool.query(
      'SELECT task_id FROM test_audit WHERE attempt > 0 AND task_id NOT IN (SELECT id FROM tasks)',
    );
    expect(begun).toEqual([]);
  }
});

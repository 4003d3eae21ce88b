import { waitUntil } from '#embedded/wait-until.js';
import { readAudit } from '../support/audit.js';
import { blockEventLoop, INSPECTED } from '../support/block-event-loop.js';
import { callersOf, newMarker, type Outcome } from '../support/fault-callers.js';
import { FaultRoom, type Member } from '../support/fault-room.js';
import { patientSetting } from '../support/patience.js';

/** Longer than a worker beside a busy suite may be kept from its renewal, which would start its tasks again. */
const LEASE_MS = Number(patientSetting(2_000, 20_000));
/** Long enough to be found and blocked on a busy machine while it draws. */
const DRAWN_MS = Number(patientSetting(5_000, 40_000));

/** Processes that die and freeze. `many-processes` has the workers' part, `shutdown` the orderly end. */
describe('two APIs and two workers', () => {
  let room: FaultRoom;
  let callers: ReturnType<typeof callersOf>;

  beforeAll(async () => {
    room = await FaultRoom.open({
      apis: 2,
      workers: 2,
      settings: {
        ...INSPECTED,
        LEASE_MS: String(LEASE_MS),
        SWEEP_INTERVAL_MS: '500',
        WORKER_CONCURRENCY: '4',
        // A busy machine takes its time to open twelve connections, to flush a commit, and to hear an answer.
        DATABASE_CONNECT_TIMEOUT_MS: '10000',
        DATABASE_QUERY_TIMEOUT_MS: '10000',
        REDIS_COMMAND_TIMEOUT_MS: '10000',
      },
    });
    callers = callersOf(room);
  });
  afterAll(() => room.close());
  afterEach(() => {
    for (const { links } of room.members) for (const link of links.values()) link.fault = 'pass';
  });

  it('end a task whose API was killed between commit and enqueue', async () => {
    const [doomed] = room.apis as [Member];
    // An API that has just then to look a key up again, or to open a connection, refuses the call instead: then another.
    const held = async (): Promise<{ marker: string; submitted: Promise<Outcome> } | undefined> => {
      await callers.untilAccepted(doomed);
      const warm = await Promise.all(Array.from({ length: 6 }, () => callers.submit(newMarker(), { at: doomed })));
      expect(new Set(warm.map(({ status }) => status))).toEqual(new Set([202]));
      const marker = newMarker();
      doomed.link('postgres').fault = 'mute';
      const attempt = { refused: false };
      const submitted = callers.submit(marker, { at: doomed });
      void submitted.then(() => (attempt.refused = true));
      await waitUntil(async () => attempt.refused || (await callers.rowsOf(marker)).length === 1, {
        timeoutMs: 20_000,
      });
      if (!attempt.refused) return { marker, submitted };
      doomed.link('postgres').fault = 'pass';
      return undefined;
    };
    let caught = await held();
    for (let round = 2; caught === undefined && round <= 6; round++) caught = await held();
    if (caught === undefined) throw new Error('the API refuses every call while its database is mute');
    const { marker, submitted } = caught;
    await doomed.kill();
    doomed.link('postgres').fault = 'pass';
    expect((await submitted).status).toBe(0);
    const [row] = await callers.rowsOf(marker);
    expect(await callers.ended([row?.id ?? ''])).toEqual(['completed']);
    expect(await callers.rowsOf(marker)).toMatchObject([{ provider_starts: 1 }]);
    await doomed.start();
  });

  it('answer every held caller of an API that was frozen while its tasks ended', async () => {
    const [api] = room.apis as [Member];
    // As many as the workers take at a time, and long enough that all of them end while it is frozen.
    const markers = Array.from({ length: 8 }, newMarker);
    const calls = markers.map((marker) => callers.generate(`${marker} [[latency=6s]]`, { at: api }));
    const rows = async () => (await Promise.all(markers.map((marker) => callers.rowsOf(marker)))).flat();
    // By then the API knows that it has accepted them; frozen between a commit and its answer, it would turn a caller away.
    const started = async (): Promise<number> => (await rows()).filter((row) => row.provider_starts > 0).length;
    expect(await waitUntil(async () => (await started()) === markers.length, { timeoutMs: 20_000 })).toBe(true);
    api.freeze();
    expect(new Set(await callers.ended((await rows()).map(({ id }) => id)))).toEqual(new Set(['completed']));
    api.thaw();
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(markers.map(() => 200));
  });

  it('take a task from a worker whose event loop is blocked, and hear nothing of it when it runs on', async () => {
    // An API that was frozen a moment ago may still turn tasks away.
    await callers.untilAccepted();
    const marker = newMarker();
    const { taskId = '' } = await callers.submit(`${marker} [[latency=${DRAWN_MS}ms]]`);
    const holder = (): Member | undefined => room.workers.find(({ running }) => running.output().includes(taskId));
    const draws = async (): Promise<boolean> => (await callers.rowsOf(marker))[0]?.provider_starts === 1;
    expect(await waitUntil(async () => holder() !== undefined && (await draws()), { timeoutMs: 20_000 })).toBe(true);
    const victim = holder() as Member;
    const unblocked = blockEventLoop(victim.running, 2 * LEASE_MS + DRAWN_MS);
    expect(await callers.ended([taskId])).toEqual(['completed']);
    const ended = await readAudit(room.pool, [taskId]);
    await unblocked;
    const walkedAway = (): boolean =>
      victim.running
        .logs()
        .some(
          ({ event, taskId: id }) =>
            id === taskId && (event === 'task.lease_lost' || event === 'task.result_discarded'),
        );
    expect(await waitUntil(walkedAway, { timeoutMs: 20_000 })).toBe(true);
    expect(await readAudit(room.pool, [taskId])).toEqual(ended);
    expect(ended.at(-1)).toMatchObject({ status: 'completed', attempt: 2 });
    expect(victim.lives).toHaveLength(1);
  });
});

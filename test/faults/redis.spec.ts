import { waitUntil } from '#embedded/wait-until.js';
import { callersOf, newMarker } from '../support/fault-callers.js';
import { FaultRoom } from '../support/fault-room.js';
import { measured } from '../support/figures.js';
import { patientSetting } from '../support/patience.js';

/** Redis only carries jobs and events. `redis-outage` has it stopped, out of memory and misconfigured; here it falls silent. */
describe('Redis', () => {
  let room: FaultRoom;
  let callers: ReturnType<typeof callersOf>;

  beforeAll(async () => {
    // A lease so long that no renewal tells a worker of a cancel in time.
    room = await FaultRoom.open({
      settings: {
        LEASE_MS: '60000',
        SWEEP_INTERVAL_MS: '500',
        MAX_TASKS_IN_FLIGHT: '1000',
        // Postgres is only slow, on a busy machine.
        DATABASE_CONNECT_TIMEOUT_MS: '10000',
        DATABASE_QUERY_TIMEOUT_MS: '10000',
        // Waited for, and longer than the API may stall before the caller that is to be held.
        REDIS_COMMAND_TIMEOUT_MS: patientSetting(2_000, 20_000),
      },
    });
    callers = callersOf(room);
  });
  afterAll(() => room.close());
  afterEach(() => {
    room.breakLinks('redis', 'pass');
  });

  it.each(['black-hole', 'half-open', 'reset'] as const)(
    '%s: new work is turned away in time and taken again afterwards, held callers are answered, nothing is lost',
    async (fault) => {
      const marker = newMarker();
      const held = callers.generate(`${marker} [[latency=3s]]`);
      const isStarted = async (): Promise<boolean> => (await callers.rowsOf(marker))[0]?.provider_starts === 1;
      expect(await waitUntil(isStarted, { timeoutMs: 20_000 })).toBe(true);
      room.breakLinks('redis', fault);
      const turnedAway = await callers.submit('too early');
      // The first one may be in the row before Redis is known to be silent; it is kept, and enqueued later.
      expect([202, 503]).toContain(turnedAway.status);
      expect((await callers.submit('still too early')).status).toBe(503);
      expect((await held).status).toBe(200);
      room.breakLinks('redis', 'pass');
      if (fault === 'half-open') for (const member of room.members) member.link('redis').cut();
      await callers.untilAccepted();
      const { rows } = await room.pool.query<{ id: string }>('SELECT id FROM tasks');
      expect(new Set(await callers.ended(rows.map(({ id }) => id)))).toEqual(new Set(['completed']));
      expect(await callers.rowsOf(marker)).toMatchObject([{ provider_starts: 1 }]);
      expect(room.members.map(({ lives }) => lives.length)).toEqual(room.members.map(() => 1));
    },
  );

  it('deaf workers: a cancel reaches the one at work all the same', async () => {
    const marker = newMarker();
    const { taskId = '' } = await callers.submit(`${marker} [[latency=60s]]`);
    expect(
      await waitUntil(async () => (await callers.rowsOf(marker))[0]?.phase === 'running', { timeoutMs: 20_000 }),
    ).toBe(true);
    room.worker.link('redis').fault = 'black-hole';
    const cancelled = await callers.ask(`/v1/tasks/${taskId}/cancel`, { method: 'POST' });
    expect(cancelled.body).toMatchObject({ data: { status: 'cancelled' } });
    const cancelledAt = performance.now();
    const stopped = (): boolean =>
      room.worker.running.logs().some((line) => line['event'] === 'task.lease_lost' && line['taskId'] === taskId);
    expect(await waitUntil(stopped, { timeoutMs: 30_000 })).toBe(true);
    measured('Cancel whose event is lost', 'until the worker stops', performance.now() - cancelledAt);
  });

  it('losing everything: every accepted task is found again', async () => {
    const ids = (
      await Promise.all(Array.from({ length: 15 }, (_, n) => callers.submit(`lost ${n} [[latency=500ms]]`)))
    ).map(({ taskId = '' }) => taskId);
    await room.killRedis();
    await room.restartRedis(true);
    expect(new Set(await callers.ended(ids, 90_000))).toEqual(new Set(['completed']));
  });
});

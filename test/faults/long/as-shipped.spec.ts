import { waitUntil } from '#embedded/wait-until.js';
import { readAudit } from '../../support/audit.js';
import { blockEventLoop, INSPECTED } from '../../support/block-event-loop.js';
import { callersOf, newMarker } from '../../support/fault-callers.js';
import { httpAnswer, type Fault } from '../../support/fault-proxy.js';
import { FaultRoom, type Member } from '../../support/fault-room.js';
import { measured } from '../../support/figures.js';
import { LedgerProvider } from '../../support/ledger-provider.js';
import { startS3, type TestS3 } from '../../support/s3.js';

const PATIENCE_MS = 60_000;
const OUTAGE_MS = 3_000;
/** A doubtful start is begun again here, so that it shows when a task is taken up again. */
const PAID = { ...INSPECTED, OPENAI_API_KEY: 'sk-ledger-secret-key', OPENAI_INTERRUPTED: 'retry' };

/** The waiting times of docs/failure.md: every fault alone, with the leases, intervals and time limits of the product. */
describe('with the settings as shipped', () => {
  let provider: LedgerProvider;
  let s3: TestS3;
  let room: FaultRoom;
  let callers: ReturnType<typeof callersOf>;

  beforeAll(async () => {
    [provider, s3] = await Promise.all([LedgerProvider.start(), startS3()]);
    room = await FaultRoom.open({
      apis: 2,
      workers: 2,
      settings: {
        ...PAID,
        STORAGE: 's3',
        S3_REGION: s3.region,
        S3_BUCKET: s3.bucket,
        S3_ACCESS_KEY_ID: s3.accessKeyId,
        S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
      },
      links: {
        provider: { setting: 'OPENAI_BASE_URL', url: provider.url },
        s3: { setting: 'S3_ENDPOINT', url: s3.endpoint },
      },
    });
    callers = callersOf(room);
    // So that every API knows the key.
    for (const at of room.apis) expect((await callers.generate(newMarker(), { at })).status).toBe(200);
  });
  afterAll(async () => {
    await room.close();
    await provider.close();
    await s3.stop();
  });
  afterEach(() => {
    for (const link of ['postgres', 'redis', 's3'] as const) room.breakLinks(link, 'pass');
  });

  describe('a worker with a task at the provider', () => {
    it.each<[string, (victim: Member) => unknown]>([
      ['killed', (victim) => victim.kill()],
      ['frozen', (victim) => void victim.freeze()],
      ['blocked', (victim) => void blockEventLoop(victim.running, 30_000)],
    ])('%s: another takes the task up', async (name, happen) => {
      const { taskId, victim } = await atTheProvider(3_000);
      await happen(victim);
      const from = Date.now();
      expect(await callers.ended([taskId], PATIENCE_MS)).toEqual(['completed']);
      const taken = (await readAudit(room.pool, [taskId])).find(({ attempt }) => attempt === 2);
      measured(`Worker ${name}`, 'until another worker picks up its task', (taken?.at.getTime() ?? Infinity) - from);
      if (name === 'killed') await victim.start();
      else victim.thaw();
      expect(await callers.ended([taskId], 0)).toEqual(['completed']);
    });

    it('told to stop: finishes it first', async () => {
      const { taskId, victim } = await atTheProvider(3_000);
      const from = performance.now();
      expect(await victim.stop()).toMatchObject({ code: 0 });
      measured('Worker stopped', 'until it exits, with a 3 s image in progress', performance.now() - from);
      expect(await callers.ended([taskId], 0)).toEqual(['completed']);
      await victim.start();
    });

    it('whose task is cancelled stops its call', async () => {
      const { taskId, victim } = await atTheProvider(40_000);
      const from = performance.now();
      expect((await callers.ask(`/v1/tasks/${taskId}/cancel`, { method: 'POST' })).status).toBe(200);
      const stopped = (): boolean =>
        victim.running.logs().some(({ event, taskId: id }) => event === 'task.lease_lost' && id === taskId);
      expect(await waitUntil(stopped, { timeoutMs: PATIENCE_MS, everyMs: 20 })).toBe(true);
      measured('Cancel', 'until the worker has stopped its call', performance.now() - from);
    });
  });

  describe('an API', () => {
    it('killed between commit and enqueue: its task ends', async () => {
      const [doomed] = room.apis as [Member];
      let marker = '';
      let submitted: Promise<unknown> = Promise.resolve();
      /** Not if its connection to Postgres is in use at that moment: another one can't be opened without answers. */
      const commitsOne = async (): Promise<boolean> => {
        // So that it knows the key, which it remembers for seconds.
        expect((await callers.submit(newMarker(), { at: doomed })).status).toBe(202);
        marker = newMarker();
        doomed.link('postgres').fault = 'mute';
        submitted = callers.submit(marker, { at: doomed });
        if (await waitUntil(async () => (await callers.rowsOf(marker)).length === 1, { timeoutMs: 2_000 })) return true;
        doomed.link('postgres').fault = 'pass';
        await submitted;
        return false;
      };
      expect(await waitUntil(commitsOne, { timeoutMs: 60_000 })).toBe(true);
      await doomed.kill();
      const from = performance.now();
      await submitted;
      const [row] = await callers.rowsOf(marker);
      expect(await callers.ended([row?.id ?? ''], PATIENCE_MS)).toEqual(['completed']);
      measured('API killed between commit and enqueue', 'until its task has ended', performance.now() - from);
      doomed.link('postgres').fault = 'pass';
      await doomed.start();
    });

    it('frozen while its tasks end: answers every caller', async () => {
      const [api] = room.apis as [Member];
      const markers = Array.from({ length: 12 }, newMarker);
      for (const marker of markers) provider.plan(marker, { latencyMs: 1_000 });
      const calls = markers.map((marker) => callers.generate(marker, { at: api }));
      const rows = async () => (await Promise.all(markers.map((marker) => callers.rowsOf(marker)))).flat();
      expect(await waitUntil(async () => (await rows()).length === 12, { timeoutMs: 20_000 })).toBe(true);
      api.freeze();
      await callers.ended((await rows()).map(({ id }) => id));
      api.thaw();
      const from = performance.now();
      expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set([200]));
      measured('API frozen while 12 tasks end', 'from its thaw to the last answer', performance.now() - from);
    });
  });

  describe('Redis', () => {
    it.each<[string, () => Promise<void> | void, () => Promise<void> | void]>([
      ['killed', () => room.killRedis(), () => room.restartRedis(false)],
      ['silent', () => room.breakLinks('redis', 'black-hole'), () => room.breakLinks('redis', 'pass')],
      ['unreachable', () => room.breakLinks('redis', 'reset'), () => room.breakLinks('redis', 'pass')],
    ])('%s: new work is refused, and taken again afterwards', async (name, happen, mend) => {
      await happen();
      const refusals = [await callers.submit(newMarker()), await callers.submit(newMarker())];
      expect(refusals[1]?.status).toBe(503);
      measured(
        `Redis ${name}`,
        'until new work is rejected',
        Math.max(...refusals.map(({ milliseconds }) => milliseconds)),
      );
      const over = performance.now() + OUTAGE_MS;
      await waitUntil(() => performance.now() > over, { timeoutMs: OUTAGE_MS });
      await mend();
      measured(`Redis ${name} for 3 s`, 'until new work is accepted after recovery', await callers.untilAccepted());
      await allEnded();
    });

    it('emptied: what was accepted ends', async () => {
      const ids = await Promise.all(
        Array.from({ length: 60 }, async () => {
          const marker = newMarker();
          provider.plan(marker, { latencyMs: 1_000 });
          return (await callers.submit(marker)).taskId ?? '';
        }),
      );
      await room.killRedis();
      await room.restartRedis(true);
      const from = performance.now();
      expect(new Set(await callers.ended(ids, PATIENCE_MS))).toEqual(new Set(['completed']));
      measured('Redis emptied', 'until 60 accepted tasks have ended', performance.now() - from);
    });
  });

  describe('Postgres', () => {
    it.each<[string, () => Promise<void> | void, () => Promise<void> | void]>([
      ['killed', () => room.killPostgres(), () => room.restartPostgres()],
      ['silent', () => room.breakLinks('postgres', 'black-hole'), () => room.breakLinks('postgres', 'pass')],
    ])('%s: new work is refused, and taken again afterwards', async (name, happen, mend) => {
      expect((await callers.submit(newMarker())).status).toBe(202);
      await happen();
      const refusals = await Promise.all(Array.from({ length: 8 }, () => callers.submit(newMarker())));
      expect(new Set(refusals.map(({ status }) => status))).toEqual(new Set([503]));
      measured(
        `Postgres ${name}`,
        'until new work is rejected',
        Math.max(...refusals.map(({ milliseconds }) => milliseconds)),
      );
      await mend();
      measured(`Postgres ${name}`, 'until new work is accepted after recovery', await callers.untilAccepted());
      await allEnded();
    });
  });

  describe('S3', () => {
    it.each<[string, Fault]>([
      ['answers 500', httpAnswer(500)],
      ['answers 403', httpAnswer(403)],
      ['is cut', { cutAfter: 0 }],
    ])('%s: the task fails, bought once', async (name, fault) => {
      const marker = newMarker();
      for (const worker of room.workers) worker.link('s3').fault = fault;
      const outcome = await callers.generate(marker);
      expect([outcome.status, provider.startsOf(marker).length]).toEqual([500, 1]);
      measured(`S3 ${name}`, 'until the task has failed', outcome.milliseconds);
    });
  });

  /** A task whose first call is under way and takes so many ms, and the worker that has it. */
  async function atTheProvider(latencyMs: number): Promise<{ taskId: string; victim: Member }> {
    const marker = newMarker();
    provider.plan(marker, { latencyMs });
    const { taskId = '' } = await callers.submit(marker);
    expect(await waitUntil(() => provider.startsOf(marker).length > 0, { timeoutMs: 20_000, everyMs: 20 })).toBe(true);
    const holder = (): Member | undefined => room.workers.find(({ running }) => running.output().includes(taskId));
    expect(await waitUntil(() => holder() !== undefined, { timeoutMs: 20_000, everyMs: 20 })).toBe(true);
    return { taskId, victim: holder() as Member };
  }

  async function allEnded(): Promise<void> {
    const { rows } = await room.pool.query<{ id: string }>('SELECT id FROM tasks');
    const statuses = await callers.ended(
      rows.map(({ id }) => id),
      PATIENCE_MS,
    );
    expect(statuses).not.toContain('pending');
  }
});

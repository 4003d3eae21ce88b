import { Agent, request } from 'node:http';
import { Redis } from 'ioredis';
import { waitUntil } from '#embedded/wait-until.js';
import { LONG } from '../support/effort.js';
import { counted } from '../support/figures.js';
import { patient, patientSetting } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { ProcessProbe } from '../support/process-probe.js';
import { startInstantWorker } from '../support/processes.js';

const CALLERS = 2_000;
const BACKLOG = LONG ? 50_000 : 2_000;
const AT_ONCE = 100;
/** How many of those who come at one moment an API accepts at a time. */
const ACCEPTED_AT_ONCE = 256;
/** How long the others wait for their turn, at most. */
const WAITED_MS = 10_000;
/** For how long an API knows a key at least before it looks it up again. */
const KEY_KNOWN_MS = 4_000;
/** What the API may hold for each: 8,000 fit into 400 MB beside the rest (bench/measures/waiting-callers.mjs). */
const CALLER_KB = 40;
const BODY = JSON.stringify({ model: 'gpt-image-2', prompt: 'held', size: 'auto' });

/** What one API process and one Redis must carry while no worker runs, and what becomes of it when one does. */
describe('more callers than workers', () => {
  let platform: Platform;
  let redis: Redis;
  const probe = new ProcessProbe();
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity });

  beforeAll(async () => {
    platform = await startPlatform({
      LOG_LEVEL: 'info',
      SYNC_WAIT_MS: patientSetting(300_000),
      ...probe.settings,
      // Longer than rows are held below, and the requests behind them wait for a connection.
      DATABASE_QUERY_TIMEOUT_MS: patientSetting(60_000),
      DATABASE_CONNECT_TIMEOUT_MS: patientSetting(60_000),
    });
    await platform.worker.stop();
    redis = new Redis(platform.settings['REDIS_URL'] ?? '');
  });
  afterAll(async () => {
    redis.disconnect();
    agent.destroy();
    await platform.close();
    probe.close();
  });

  /** The status of the answer, and its body; `onSent`: once all of the request is in the system's hands. */
  function post(path: string, key = platform.key, onSent = (): void => undefined): Promise<[number, string]> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const call = request(platform.url + path, { method: 'POST', agent, headers }, (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () => {
          resolve([response.statusCode ?? 0, text]);
        });
      });
      call.on('error', reject).on('finish', onSent).end(BODY);
    });
  }

  async function count(where: string): Promise<number> {
    const { rows } = await platform.pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM tasks WHERE ${where}`);
    return rows[0]?.n ?? 0;
  }

  it(`${CALLERS} sync callers are held and all answered, at ${CALLER_KB} kB each`, async () => {
    const before = await probe.liveMb(platform.api);
    const answers: Promise<[number, string]>[] = [];
    for (let held = AT_ONCE; held <= CALLERS; held += AT_ONCE) {
      answers.push(...Array.from({ length: AT_ONCE }, () => post('/v1/images/generations')));
      await waitUntil(async () => (await count(`status = 'pending'`)) === held, { timeoutMs: 60_000 });
    }
    expect(await count(`status = 'pending'`)).toBe(CALLERS);
    const heldKb = (((await probe.liveMb(platform.api)) - before) * 1_000) / CALLERS;
    counted('Held callers', 'memory in use for each (kB)', heldKb.toFixed(1));
    expect(heldKb).toBeLessThan(CALLER_KB);
    const worker = await startInstantWorker(platform.settings);
    const answered = await Promise.all(answers);
    await worker.stop();
    expect(answered.map(([status]) => status)).toEqual(answers.map(() => 200));
    const links = answered.map(([, text]) => (JSON.parse(text) as { data: { url: string }[] }).data[0]?.url);
    expect(new Set(links).size).toBe(CALLERS);
  }, 240_000);

  it(
    `a backlog of ${BACKLOG} costs Redis at most 2 kB a task and is drained to the last`,
    async () => {
      const before = { memory: await probe.liveMb(platform.api), done: await count('true') };
      const statuses = new Set<number>();
      for (let sent = 0; sent < BACKLOG; sent += AT_ONCE) {
        for (const [status] of await Promise.all(
          Array.from({ length: AT_ONCE }, () => post('/v1/images/generations/async')),
        )) {
          statuses.add(status);
        }
      }
      expect([...statuses]).toEqual([202]);
      expect(await count(`status = 'pending'`)).toBe(BACKLOG);
      // 50,000 of them are to fit into 100 MB.
      expect((await redisBytes()) / BACKLOG).toBeLessThan(2_000);
      // A waiting task holds nothing in the API.
      expect(await probe.liveMb(platform.api)).toBeLessThan(before.memory * 1.1);
      const worker = await startInstantWorker(platform.settings);
      await waitUntil(async () => (await count(`status = 'pending'`)) === 0, {
        timeoutMs: LONG ? 600_000 : 120_000,
        everyMs: 250,
      });
      await worker.stop();
      expect(await count(`status = 'completed' AND provider_starts = 1 AND attempt = 1`)).toBe(before.done + BACKLOG);
    },
    LONG ? 1_200_000 : 240_000,
  );

  describe('who come at one moment', () => {
    let key: string;
    let keyId: string;
    // A key that the API has not looked up yet: while connections are held, it could not look it up once more.
    beforeEach(async () => {
      ({ id: keyId, key } = await platform.newKeyWithId({ tasks_in_flight: 5_000 }, await platform.newAccount()));
    });
    beforeAll(async () => {
      // No lock: those are not waited for as long.
      await platform.pool.query(`
        CREATE TABLE inserts AS SELECT false AS held;
        CREATE FUNCTION wait_while_held() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          WHILE (SELECT held FROM inserts) LOOP PERFORM pg_sleep(0.02); END LOOP;
          RETURN NULL;
        END $$;
        CREATE TRIGGER held BEFORE INSERT ON tasks FOR EACH STATEMENT EXECUTE FUNCTION wait_while_held()`);
    });

    const inFlight = (): Promise<number> => redis.zcard(`${platform.settings['REDIS_PREFIX']}:in-flight:${keyId}`);

    /** The statuses of so many at one moment; no row is written before `meanwhile` is over. */
    async function atOnce(callers: number, meanwhile: () => Promise<void>): Promise<Map<number, number>> {
      // On a slow machine, the server is about to close what idled since the tests before.
      agent.destroy();
      await platform.pool.query('UPDATE inserts SET held = true');
      const counts = new Map<number, number>();
      let sent = 0;
      // They arrive together, however slowly this machine sends them: while rows are held, no key can be looked up again.
      platform.api.kill('SIGSTOP');
      const answers = Array.from({ length: callers }, async () => {
        const [status] = await post('/v1/images/generations/async', key, () => sent++);
        counts.set(status, (counts.get(status) ?? 0) + 1);
      });
      Promise.all(answers).catch(() => undefined);
      const areSent = await waitUntil(() => sent === callers, { timeoutMs: 30_000 });
      platform.api.kill('SIGCONT');
      expect(areSent).toBe(true);
      await meanwhile().finally(() => platform.pool.query('UPDATE inserts SET held = false'));
      await Promise.all(answers);
      return counts;
    }

    it('are accepted by the hundreds, and all of them', async () => {
      let seen = 0;
      const since = performance.now();
      const statuses = await atOnce(2 * ACCEPTED_AT_ONCE, async () => {
        const areIn = async (): Promise<boolean> => (await inFlight()) >= ACCEPTED_AT_ONCE;
        expect(await waitUntil(areIn, { timeoutMs: 15_000 })).toBe(true);
        // All have been read by then. No key, which would need a connection to Postgres.
        await platform.call('/healthz', { key: null });
        seen = await inFlight();
      });
      expect(seen).toBe(ACCEPTED_AT_ONCE);
      // A slow machine may need longer for all than any of them may wait.
      const sentAway = performance.now() - since > WAITED_MS ? (statuses.get(503) ?? 0) : 0;
      const accepted = 2 * ACCEPTED_AT_ONCE - sentAway;
      expect(accepted).toBeGreaterThanOrEqual(ACCEPTED_AT_ONCE);
      expect(Object.fromEntries(statuses)).toEqual({ 202: accepted, ...(sentAway > 0 && { 503: sentAway }) });
      expect(await count(`api_key_id = '${keyId}'`)).toBe(accepted);
    });

    it('are sent away when they have waited for 10 s, and leave nothing', async () => {
      let readMs = Infinity;
      const statuses = await atOnce(ACCEPTED_AT_ONCE + 100, async () => {
        const begun = performance.now();
        const areIn = async (): Promise<boolean> => (await inFlight()) >= ACCEPTED_AT_ONCE;
        expect(await waitUntil(areIn, { timeoutMs: 15_000 })).toBe(true);
        await platform.call('/healthz', { key: null });
        // All have been read by then, and are told as soon as their turn comes.
        const since = performance.now();
        readMs = since - begun;
        // Some that were read may begin to wait a little later.
        const enoughMs = WAITED_MS + patient(4_000);
        await waitUntil(() => performance.now() - since > enoughMs, { timeoutMs: 30_000 });
      });
      const [accepted = 0, sentAway = 0] = [202, 503].map((status) => statuses.get(status));
      // A slow machine may read some when their key is to be looked up again, so that they come to wait once the rows are free.
      if (readMs < KEY_KNOWN_MS) expect(sentAway).toBe(100);
      expect(sentAway).toBeGreaterThan(0);
      expect(accepted).toBeGreaterThanOrEqual(ACCEPTED_AT_ONCE);
      expect(accepted + sentAway).toBe(ACCEPTED_AT_ONCE + 100);
      expect([await count(`api_key_id = '${keyId}'`), await inFlight()]).toEqual([accepted, accepted]);
    });
  });

  /** What this platform alone holds in Redis, in bytes. */
  async function redisBytes(): Promise<number> {
    let bytes = 0;
    for await (const keys of redis.scanStream({ match: `${platform.settings['REDIS_PREFIX']}*`, count: 1_000 })) {
      const pipeline = redis.pipeline();
      for (const key of keys as string[]) pipeline.memory('USAGE', key, 'SAMPLES', 0);
      for (const [, size] of (await pipeline.exec()) ?? []) bytes += Number(size);
    }
    return bytes;
  }
});

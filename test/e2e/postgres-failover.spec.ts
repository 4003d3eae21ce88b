import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { isDatabaseUnavailable } from '#database/database-errors.js';
import { migrate, MIGRATIONS } from '#database/migrate.js';
import type { PrismaService } from '#database/prisma.service.js';
import { primaryClient } from '#database/primary-client.js';
import { waitUntil } from '#embedded/wait-until.js';
import { doctor } from '../../apps/standalone/src/commands/doctor.js';
import { createKey } from '../support/access.js';
import { Drill } from '../support/drill.js';
import { newMarker, order } from '../support/fault-callers.js';
import { freePort } from '../support/free-port.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { openPrisma } from '../support/open-prisma.js';
import { patient } from '../support/patience.js';
import { startPostgresPair, type PostgresPair } from '../support/postgres-pair.js';
import { startApi, startWorker, type TestProcess } from '../support/processes.js';
import { createTestRedis } from '../support/redis.js';

const SECRET_KEY = 'failover'.repeat(5);

// Real: a primary with a synchronous standby, an API, a worker, and a provider that counts what it starts.
describe('a Postgres failover between the two hosts of DATABASE_URL', () => {
  let folder: string;
  let pair: PostgresPair;
  let provider: LedgerProvider;
  let processes: TestProcess[];
  let database: PrismaService;
  let standby: pg.Pool;
  let key: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-failover-'));
    [pair, provider] = await Promise.all([startPostgresPair('darkroom'), LedgerProvider.start()]);
    // The standby is named first, so whoever takes the first host can't even migrate.
    const url = `postgresql://darkroom:pair@${pair.hosts.standby},${pair.hosts.primary}/darkroom?target_session_attrs=read-write`;
    await migrate(url, MIGRATIONS);
    database = openPrisma(url);
    standby = new pg.Pool({ connectionString: pair.standby, max: 2 });
    standby.on('error', () => undefined);
    key = (await createKey(database.pool, SECRET_KEY, { name: 'failover' })).key;
    const { url: redisUrl, prefix } = createTestRedis();
    const settings = {
      DATABASE_URL: url,
      REDIS_URL: redisUrl,
      REDIS_PREFIX: prefix,
      DATA_DIR: folder,
      SECRET_KEY,
      OPENAI_API_KEY: 'sk-ledger-secret-key',
      OPENAI_BASE_URL: provider.url,
      WORKER_CONCURRENCY: '20',
      // A server that was killed refuses at once.
      REDIS_COMMAND_TIMEOUT_MS: '20000',
      DATABASE_CONNECT_TIMEOUT_MS: '20000',
    };
    processes = await Promise.all([startApi(settings), startWorker(settings)]);
  });
  afterAll(async () => {
    await Promise.all(processes.map((process) => process.stop()));
    await database.close();
    await standby.end();
    await pair.close();
    await provider.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function ask(marker: string, signal = AbortSignal.timeout(patient(60_000))): Promise<Response> {
    const response = await fetch(`${processes[0]!.url}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(order(marker)),
      signal,
    });
    await response.arrayBuffer();
    return response;
  }

  /** What the API says of commits; it stays ready, because it can answer reads. */
  async function commits(): Promise<unknown> {
    const response = await fetch(`${processes[0]!.url}/readyz`);
    const { dependencies } = (await response.json()) as { dependencies: Record<string, { state: string }> };
    expect(response.status).toBe(200);
    return dependencies['commits']?.state;
  }

  it('leaves no connection behind at a server that has become a standby', async () => {
    const address = await FaultProxy.start(pair.primary);
    const PrimaryClient = primaryClient([address.url, pair.standby], patient(10_000));
    const connect = (): Promise<pg.Client> =>
      new PrimaryClient({ connectionString: address.url, application_name: 'stale' }).connect();
    await (await connect()).end();
    address.moveTo(pair.standby);
    await expect(connect()).rejects.toMatchObject({ code: '57P03' });
    const isGone = async (): Promise<boolean> =>
      (await standby.query(`SELECT FROM pg_stat_activity WHERE application_name = 'stale'`)).rowCount === 0;
    expect(await waitUntil(isGone, { timeoutMs: 20_000 })).toBe(true);
    await address.close();
  });

  it('says of each server why it can’t be used, as long as none can', async () => {
    const errorOf = async (...urls: string[]): Promise<unknown> =>
      new (primaryClient(urls, patient(10_000)))({ connectionString: urls[0] })
        .connect()
        .catch((error: unknown) => error);
    const gone = `127.0.0.1:${await freePort()}`;
    const unknown = new URL(pair.primary);
    unknown.pathname = '/nowhere';
    const error = await errorOf(unknown.href, `postgresql://darkroom:pair@${gone}/darkroom`, pair.standby);
    expect(error).toMatchObject({
      message: [
        `${pair.hosts.primary}: database "nowhere" does not exist`,
        `${gone}: connect ECONNREFUSED ${gone}`,
        `${pair.hosts.standby}: the server is a standby, which accepts no writes`,
      ].join('; '),
    });
    expect(isDatabaseUnavailable(error)).toBe(true);
  });

  it('is prepared for when doctor finds every host, and one that accepts writes', async () => {
    const found = async (...hosts: string[]): Promise<string> => {
      const lines: string[] = [];
      const env = { DATA_DIR: folder, DATABASE_URL: `postgresql://darkroom:pair@${hosts.join()}/darkroom`, SECRET_KEY };
      await doctor(env, (line) => lines.push(line));
      return lines.find((line) => / postgres /.test(line)) ?? '';
    };
    const { primary, standby: copy } = pair.hosts;
    const gone = `127.0.0.1:${await freePort()}`;
    const server = /\d+$/.exec(primary)?.[0] ?? '';
    expect(await found(copy, primary)).toMatch(
      new RegExp(`^ok {4}postgres +version \\d+.*; ${copy}: standby; ${primary}: accepts writes$`),
    );
    expect(await found(primary, gone)).toContain(`accepts writes; ${gone}: `);
    expect(await found(primary, `localhost:${server}`)).toMatch(/^fail .*processes may use either: stop all but one/);
    expect(await found(primary)).toMatch(/^ok {4}postgres +version [\d.]+$/);
  });

  it('keeps no more connections than a pool may have while commits wait for a standby that is gone', async () => {
    const waiting = openPrisma(pair.primary, { databasePool: 2, queryTimeoutMs: 300 });
    const isKept = async (): Promise<boolean> => {
      const sessions = `SELECT FROM pg_stat_activity WHERE application_name LIKE 'darkroom test 2 %' AND wait_event = 'SyncRep'`;
      return ((await standbyless.query(sessions)).rowCount ?? 0) > 2;
    };
    const standbyless = new pg.Pool({ connectionString: pair.primary, max: 1 });
    await pair.confirm(false);
    expect(await waitUntil(async () => (await commits()) === 'failing', { timeoutMs: 60_000 })).toBe(true);
    for (let round = 0; round < 5; round += 1) {
      const writes = [1, 2].map((n) => waiting.account.create({ data: { id: `waiting-${round}-${n}`, name: 'A' } }));
      for (const { status } of await Promise.allSettled(writes)) expect(status).toBe('rejected');
    }
    expect(await waitUntil(async () => !(await isKept()), { timeoutMs: 30_000 })).toBe(true);
    await pair.confirm(true);
    await database.account.create({ data: { id: 'confirmed', name: 'A' } });
    expect(await waitUntil(async () => (await commits()) === 'ok', { timeoutMs: 60_000 })).toBe(true);
    await Promise.all([waiting.close(), standbyless.end()]);
  });

  it('is followed: connections go to the server that accepts writes, and no image is lost or bought twice', async () => {
    const drill = new Drill(provider, async (marker, signal) => (await ask(marker, signal)).status);
    await drill.hold(8);
    await pair.killPrimary();
    // The standby answers, but accepts no writes: callers are told to try again.
    const refused = await ask(newMarker());
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.any(String)]);
    await pair.promote();
    await drill.come(8);
    drill.release();
    await drill.judge(standby, 'Postgres failover between two hosts');
  });
});

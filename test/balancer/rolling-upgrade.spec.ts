import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '#database/migrate.js';
import { waitUntil } from '#embedded/wait-until.js';
import { startBalancer, type TestBalancer } from '../support/balancer.js';
import { newMarker, order } from '../support/fault-callers.js';
import { counted } from '../support/figures.js';
import { freePort } from '../support/free-port.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { startNameServer, type NameServer } from '../support/name-server.js';
import { patient } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, startWorker, type TestProcess } from '../support/processes.js';
import { UPGRADE_STEPS } from '../support/upgrade-steps.js';

const LATENCY_MS = 400;
const CALLERS = 4;

interface Answer {
  readonly status: number;
  readonly text: string;
}

// Real: HAProxy with the file we ship, which finds its instances by name; APIs, workers and a migration. Containers are
// processes here, each API at an address of its own.
describe('a rolling upgrade', () => {
  let provider: LedgerProvider;
  let platform: Platform;
  let port: number;
  let names: NameServer;
  let balancer: TestBalancer;
  let folder: string;
  let apis: Map<string, TestProcess>;
  let workers: TestProcess[];
  const markers: string[] = [];
  const failed: Answer[] = [];

  beforeAll(async () => {
    [provider, port] = [await LedgerProvider.start(), await freePort()];
    const first = '127.0.2.1';
    const second = '127.0.2.2';
    platform = await startPlatform({
      HOST: first,
      PORT: String(port),
      SHUTDOWN_DELAY_MS: '3000',
      SHUTDOWN_GRACE_MS: '20000',
      OPENAI_API_KEY: 'sk-ledger-secret-key',
      OPENAI_BASE_URL: provider.url,
    });
    apis = new Map([
      [first, platform.api],
      [second, await startApi({ ...platform.settings, HOST: second })],
    ]);
    workers = [platform.worker];
    names = await startNameServer([...apis.keys()]);
    balancer = await startBalancer({
      apis: { nameServer: names.port, port },
      env: { SOURCE_REQUESTS: '100000' },
    });
    expect(await isServed(2)).toBe(true);
    folder = await mkdtemp(join(tmpdir(), 'darkroom-upgrade-'));
  });
  afterAll(async () => {
    await balancer.stop();
    names.stop();
    await Promise.all([...apis.values(), ...workers].map((process) => process.stop()));
    await platform.close();
    await provider.close();
    await rm(folder, { recursive: true });
  });

  /** What the script asks the balancer's metrics. */
  const isServed = (count: number): Promise<boolean> =>
    waitUntil(async () => (await balancer.readyApis()) === count, { timeoutMs: 30_000 });

  async function ask(path: string, body?: object): Promise<Answer> {
    const response = await fetch(balancer.url + path, {
      headers: { authorization: `Bearer ${platform.key}`, 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(patient(60_000)),
    }).catch((error: unknown) => error);
    const answer =
      response instanceof Response
        ? { status: response.status, text: await response.text().catch(String) }
        : { status: 0, text: String(response) };
    if (answer.status !== 200 && answer.status !== 202) failed.push(answer);
    return answer;
  }

  /** One caller, who never tries again: it waits for an image, submits another, and looks at its tasks. */
  async function call(): Promise<void> {
    for (const path of ['/v1/images/generations', '/v1/images/generations/async']) {
      const marker = newMarker();
      markers.push(marker);
      provider.plan(marker, { latencyMs: LATENCY_MS });
      await ask(path, order(marker));
      await ask('/v1/tasks?limit=5');
    }
  }

  /** What deploy/upgrade.sh does with containers, by the names of its steps. */
  function stepsOf(old: readonly string[]): Record<string, () => Promise<void>> {
    const waiting = [...old];
    let drained: TestProcess[] = [];
    return {
      build: () => Promise.resolve(),
      migrate: async () => {
        await cp('prisma/migrations', folder, { recursive: true });
        const name = '99990101000000_of_the_next_version';
        await mkdir(join(folder, name));
        await writeFile(
          join(folder, name, 'migration.sql'),
          `ALTER TABLE "tasks" ADD COLUMN "next" TEXT, ADD COLUMN "next_count" INTEGER NOT NULL DEFAULT 0;
           CREATE TABLE "next" ("id" TEXT NOT NULL PRIMARY KEY);`,
        );
        expect(await migrate(platform.settings['DATABASE_URL'] ?? '', folder)).toEqual([name]);
      },
      'start-api': async () => {
        const host = `127.0.3.${apis.size + waiting.length}`;
        apis.set(host, await startApi({ ...platform.settings, HOST: host }));
        names.addresses = [...apis.keys()];
      },
      'find-api': async () => expect(await isServed(apis.size)).toBe(true),
      'stop-api': async () => {
        const host = waiting.shift() ?? '';
        expect(await apis.get(host)?.stop()).toMatchObject({ code: 0 });
        apis.delete(host);
        names.addresses = [...apis.keys()];
        expect(await isServed(apis.size)).toBe(true);
      },
      'start-workers': async () => {
        drained = workers;
        workers = await Promise.all(drained.map(() => startWorker(platform.settings)));
      },
      'drain-workers': async () => {
        for (const exit of await Promise.all(drained.map((worker) => worker.stop())))
          expect(exit).toMatchObject({ code: 0 });
      },
    };
  }

  it('O12: the steps of deploy/upgrade.sh under load: no call fails, no task is lost, nothing is bought twice', async () => {
    let going = true;
    const callers = Array.from({ length: CALLERS }, async () => {
      while (going) await call();
    });
    const old = [...apis.keys()];
    const steps = stepsOf(old);
    expect(Object.keys(steps)).toEqual(UPGRADE_STEPS);
    // An API at a time goes through the three of its own.
    const isOfApi = (step: string): boolean => step.endsWith('-api');
    const first = UPGRADE_STEPS.findIndex(isOfApi);
    const ofApi = UPGRADE_STEPS.filter(isOfApi);
    const before = UPGRADE_STEPS.slice(0, first);
    for (const step of [...before, ...old.flatMap(() => ofApi), ...UPGRADE_STEPS.slice(first + ofApi.length)]) {
      await steps[step]?.();
    }
    going = false;
    await Promise.all(callers);
    expect(failed).toEqual([]);
    const rows = async (): Promise<{ status: string; starts: number; count: number }[]> =>
      (
        await platform.pool.query<{ status: string; starts: number; count: number }>(
          'SELECT status, provider_starts AS starts, count(*)::int AS count FROM tasks GROUP BY 1, 2',
        )
      ).rows;
    const isEnded = async (): Promise<boolean> => (await rows()).every(({ status }) => status !== 'pending');
    expect(await waitUntil(isEnded, { timeoutMs: 60_000 })).toBe(true);
    expect(markers.length).toBeGreaterThan(20);
    expect(await rows()).toEqual([{ status: 'completed', starts: 1, count: markers.length }]);
    expect(provider.ledger).toHaveLength(markers.length);
    counted('Rolling upgrade with a migration', 'calls, failed, lost, bought twice', `${2 * markers.length}, 0, 0, 0`);
  });
});

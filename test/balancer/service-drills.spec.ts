import { waitUntil } from '#embedded/wait-until.js';
import { readAudit } from '../support/audit.js';
import { startBalancer, type TestBalancer } from '../support/balancer.js';
import { Drill, judge } from '../support/drill.js';
import { callersOf, newMarker, type Outcome } from '../support/fault-callers.js';
import { FaultRoom } from '../support/fault-room.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { LONG_TIMEOUTS } from '../support/platform.js';
import { startS3, type TestS3 } from '../support/s3.js';

// Real: HAProxy with the file we ship, two APIs, two workers, Postgres, Redis, S3, and a provider that counts its starts.
describe('behind the balancer', () => {
  let provider: LedgerProvider;
  let s3: TestS3;
  let room: FaultRoom;
  let balancer: TestBalancer;
  let callers: ReturnType<typeof callersOf>;

  beforeAll(async () => {
    [provider, s3] = await Promise.all([LedgerProvider.start(), startS3()]);
    room = await FaultRoom.open({
      apis: 2,
      workers: 2,
      settings: {
        ...LONG_TIMEOUTS,
        OPENAI_API_KEY: 'sk-ledger-secret-key',
        WORKER_CONCURRENCY: '24',
        SWEEP_INTERVAL_MS: '500',
        STORAGE: 's3',
        S3_REGION: s3.region,
        S3_BUCKET: s3.bucket,
        S3_TIMEOUT_MS: '60000',
        S3_ACCESS_KEY_ID: s3.accessKeyId,
        S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
        // An open call is given up when its lease runs out, so that must outlast the restart, however slow the machine.
        LEASE_MS: '120000',
        // Longer than the balancer needs to see that an API is not ready, however busy the machine.
        SHUTDOWN_DELAY_MS: '4000',
      },
      links: {
        provider: { setting: 'OPENAI_BASE_URL', url: provider.url },
        s3: { setting: 'S3_ENDPOINT', url: s3.endpoint },
      },
    });
    const addressOf = ({ settings }: (typeof room.apis)[number]): string => `http://127.0.0.1:${settings['PORT']}`;
    balancer = await startBalancer({ apis: room.apis.map(addressOf), env: { SOURCE_REQUESTS: '100000' } });
    callers = callersOf(room);
    expect(await bothAreReady()).toBe(true);
  });
  afterAll(async () => {
    await balancer.stop();
    await room.close();
    await provider.close();
    await s3.stop();
  });

  const bothAreReady = (): Promise<boolean> =>
    waitUntil(async () => (await balancer.readyApis()) === 2, { timeoutMs: 60_000 });

  function generate(marker: string, signal?: AbortSignal): Promise<Outcome> {
    return callers.generate(marker, { at: balancer, timeoutMs: 120_000, ...(signal && { signal }) });
  }

  const drill = (): Drill => new Drill(provider, async (marker, signal) => (await generate(marker, signal)).status);

  it('APIs and workers are replaced one after the other, and no caller notices', async () => {
    const [markers, outcomes]: [string[], Outcome[]] = [[], []];
    let going = true;
    const traffic = Array.from({ length: 4 }, async () => {
      while (going) {
        const marker = newMarker();
        markers.push(marker);
        provider.plan(marker, { latencyMs: 200 });
        outcomes.push(await generate(marker));
      }
    });
    for (const member of room.members) {
      expect(await member.stop()).toMatchObject({ code: 0 });
      await member.start();
      expect(await bothAreReady()).toBe(true);
    }
    going = false;
    await Promise.all(traffic);
    expect(markers.length).toBeGreaterThan(8);
    const statuses = outcomes.map(({ status }) => status);
    expect(outcomes.filter(({ status }) => status !== 200).map(({ status, text }) => ({ status, text }))).toEqual([]);
    await judge(room.pool, provider, 'Rolling restart of 2 APIs, 2 workers', markers, statuses);
    const ids = outcomes.map(({ taskId = '' }) => taskId);
    const ends = (await readAudit(room.pool, ids)).filter(
      (line) => line.statusBefore !== line.status && line.status !== 'pending',
    );
    expect(ends).toHaveLength(ids.length);
  });

  it('Postgres is restarted while callers wait for paid images, and others come: each gets its one image', async () => {
    const restart = drill();
    await restart.hold(20);
    await room.postgres.stop();
    const come = restart.come(20);
    await room.restartPostgres();
    await come;
    restart.release();
    await restart.judge(room.pool, 'Postgres restarted (LEASE_MS 120 s)');
  });

  it('S3 is slow, but not too slow: every caller gets its one image', async () => {
    const slow = drill();
    await slow.hold(20);
    room.breakLinks('s3', { bytesPerSecond: 10_000 });
    slow.release();
    await slow.come(20);
    await slow.judge(room.pool, 'S3 at 10 kB/s (S3_TIMEOUT_MS 60 s)');
    room.breakLinks('s3', 'pass');
  });
});

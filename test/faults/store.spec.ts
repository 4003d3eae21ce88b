import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { callersOf, newMarker, type Outcome } from '../support/fault-callers.js';
import { httpAnswer, type Fault } from '../support/fault-proxy.js';
import { FaultRoom } from '../support/fault-room.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { measured } from '../support/figures.js';
import { LONG_TIMEOUTS } from '../support/platform.js';
import { startS3, type TestS3 } from '../support/s3.js';

const PAID = { OPENAI_API_KEY: 'sk-ledger-secret-key', SWEEP_INTERVAL_MS: '500' };
const NOT_STORED = { type: 'error', error: { code: 'storage_error' } };

/** An image that was paid for is stored again and again, and never bought again. */
describe('S3', () => {
  let provider: LedgerProvider;
  let s3: TestS3;
  let room: FaultRoom;
  let callers: ReturnType<typeof callersOf>;

  beforeAll(async () => {
    [provider, s3] = await Promise.all([LedgerProvider.start(), startS3()]);
    room = await FaultRoom.open({
      settings: {
        ...PAID,
        STORAGE: 's3',
        S3_REGION: s3.region,
        S3_BUCKET: s3.bucket,
        S3_ACCESS_KEY_ID: s3.accessKeyId,
        S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
        S3_TIMEOUT_MS: '5000',
        S3_ATTEMPTS: '1',
        ...LONG_TIMEOUTS,
      },
      links: {
        provider: { setting: 'OPENAI_BASE_URL', url: provider.url },
        s3: { setting: 'S3_ENDPOINT', url: s3.endpoint },
      },
    });
    callers = callersOf(room);
  });
  afterAll(async () => {
    await room.close();
    await provider.close();
    await s3.stop();
  });
  afterEach(() => {
    room.breakLinks('s3', 'pass');
  });

  const faults: [string, Fault][] = [
    ['500', httpAnswer(500)],
    ['403', httpAnswer(403)],
    ['silent', 'black-hole'],
    ['slow', { bytesPerSecond: 200 }],
    ['cut', { cutAfter: 0 }],
  ];

  it.each(faults.filter(([name]) => name !== '403' && name !== 'slow'))(
    '%s for a moment: the same image is stored, bought once',
    async (_name, fault) => {
      const marker = newMarker();
      const link = room.worker.link('s3');
      link.fault = fault;
      link.cut();
      // With the second try, so the fault has ended the first one; there are only four, within seconds.
      link.passFrom = link.count + 2;
      const outcome = callers.generate(marker);
      expect(await outcome).toMatchObject({ status: 200 });
      expect(link.fault).toBe('pass');
      expect(provider.startsOf(marker)).toHaveLength(1);
      // The fallback server drops an object when an earlier, broken upload of it ends late.
      if (!s3.strict) return;
      await sizeOf(linkOf(await outcome));
    },
  );

  it('cut or silent while an image is fetched: never a part for the whole', async () => {
    const link = linkOf(await callers.generate(newMarker()));
    const whole = await sizeOf(link);
    for (const fault of [{ cutAfter: 600 }, httpAnswer(500), 'black-hole'] as const) {
      room.api.link('s3').fault = fault;
      room.api.link('s3').cut();
      const read = await fetch(link)
        .then(async (response) => (response.ok ? (await response.arrayBuffer()).byteLength : 'refused'))
        .catch(() => 'broken');
      expect(['refused', 'broken']).toContain(read);
      room.api.link('s3').fault = 'pass';
    }
    expect(await sizeOf(link)).toBe(whole);
  });

  describe('that stays broken', () => {
    beforeAll(async () => {
      await room.worker.stop();
      await room.worker.start({ S3_TIMEOUT_MS: '400' });
    });

    it.each(faults)('%s to the end: the task fails after some tries, bought once', async (name, fault) => {
      const marker = newMarker();
      room.worker.link('s3').fault = fault;
      const outcome = await callers.generate(marker);
      measured(`S3: ${name}`, 'until the task has failed (S3_TIMEOUT_MS 0.4 s)', outcome.milliseconds);
      expect([outcome.status, outcome.headers.get('x-should-retry')]).toEqual([500, 'false']);
      expect(outcome.body).toMatchObject(NOT_STORED);
      expect(provider.startsOf(marker)).toHaveLength(1);
    });
  });

  /** A busy machine may exceed the time limits of the store: then the service says so, and is asked again. */
  async function sizeOf(link: string): Promise<number> {
    let size = 0;
    const isServed = async (): Promise<boolean> => {
      const answer = await fetch(link);
      if (answer.status !== 503)
        expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/png']);
      size = (await answer.arrayBuffer()).byteLength;
      return answer.status === 200;
    };
    expect(await waitUntil(isServed, { timeoutMs: 20_000, everyMs: 200 })).toBe(true);
    return size;
  }
});

// A full disk is a small file system of its own, which only root may mount; a folder that is closed stops all but root.
const isRoot = process.getuid?.() === 0;

describe('the disk', () => {
  let provider: LedgerProvider;
  let room: FaultRoom;
  let callers: ReturnType<typeof callersOf>;
  let data: string;

  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), 'darkroom-disk-'));
    if (isRoot) execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', data]);
    await mkdir(join(data, 'objects'), { recursive: true });
    provider = await LedgerProvider.start();
    room = await FaultRoom.open({
      settings: { ...PAID, ...LONG_TIMEOUTS, DATA_DIR: data },
      links: { provider: { setting: 'OPENAI_BASE_URL', url: provider.url } },
    });
    callers = callersOf(room);
  });
  afterAll(async () => {
    await room.close();
    await provider.close();
    if (isRoot) execFileSync('umount', [data]);
    await rm(data, { recursive: true, force: true });
  });

  async function fails(marker: string): Promise<void> {
    const outcome = await callers.generate(marker);
    expect([outcome.status, outcome.headers.get('x-should-retry')]).toEqual([500, 'false']);
    expect(outcome.body).toMatchObject(NOT_STORED);
    expect(provider.startsOf(marker)).toHaveLength(1);
    const left = await readdir(join(data, 'objects', 'results')).catch(() => []);
    expect(left.filter((name) => name.startsWith(outcome.taskId ?? 'task_'))).toEqual([]);
  }

  async function works(): Promise<void> {
    const outcome = await callers.generate(newMarker());
    expect(outcome.status).toBe(200);
    const image = await fetch(linkOf(outcome));
    expect((await image.arrayBuffer()).byteLength).toBeGreaterThan(1_000);
  }

  if (isRoot)
    it('full: the task fails, bought once; it works again when there is room', async () => {
      await works();
      const ballast = join(data, 'ballast');
      await writeFile(ballast, Buffer.alloc(4_000_000)).catch(() => undefined);
      await fails(newMarker());
      await rm(ballast);
      await works();
    });

  it('read-only: the task fails, bought once; it works again when it can be written', async () => {
    await works();
    // What the health checks write is there for a moment, too.
    expect(await waitUntil(() => readOnly(true), { timeoutMs: 20_000 })).toBe(true);
    await fails(newMarker());
    expect(readOnly(false)).toBe(true);
    await works();
  });

  /** False when a file is being written. */
  function readOnly(on: boolean): boolean {
    if (isRoot) return spawnSync('mount', ['-o', `remount,${on ? 'ro' : 'rw'}`, data]).status === 0;
    for (const folder of ['.unfinished', 'results', '.']) chmodSync(join(data, 'objects', folder), on ? 0o500 : 0o700);
    return true;
  }
});

function linkOf(outcome: Outcome): string {
  return (outcome.body as { data: { url: string }[] }).data[0]?.url ?? '';
}

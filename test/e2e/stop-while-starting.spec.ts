import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { freePort } from '../support/free-port.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

/** Says when the process listens for SIGTERM and SIGINT, and whether its program is loaded by then. */
const REPORT = `process.on('newListener', (name) => {
  const mark = Reflect.getMetadata ? 'LISTENS-LOADED ' : 'LISTENS-LOADING ';
  if (name === 'SIGINT') queueMicrotask(() => process.stdout.write(mark));
});`;

// Real: the entry of the container image, Postgres and Redis.
describe('a process that gets SIGTERM while it starts', () => {
  let platform: ApiPlatform;
  let folder: string;
  let report: string;

  beforeAll(async () => {
    platform = await startApiPlatform();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-starting-'));
    report = join(folder, 'report.mjs');
    await writeFile(report, REPORT);
  });
  afterAll(async () => {
    await platform.close();
    await rm(folder, { recursive: true });
  });

  /** Starts a role, and stops it as soon as it has printed `mark`. Returns how it ended. */
  async function stopAt(mark: string, role: string) {
    const port = await freePort();
    const health = await freePort();
    const child = spawn(process.execPath, ['--import', pathToFileURL(report).href, 'bin/darkroom.mjs', role], {
      env: {
        ...platform.settings,
        PATH: process.env['PATH'],
        LOG_LEVEL: 'debug',
        PORT: String(port),
        WORKER_HEALTH_PORT: String(health),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    let isStopped = false;
    child.stdout.on('data', (text: Buffer) => {
      output += text.toString();
      if (isStopped || !output.includes(mark)) return;
      isStopped = true;
      child.kill('SIGTERM');
    });
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    return { code, signal, isStopped };
  }

  it.each(['api', 'worker'])('while its program loads: the %s has listened before, and ends with 0', async (role) => {
    expect(await stopAt('LISTENS-LOADING', role)).toEqual({ code: 0, signal: null, isStopped: true });
  });

  it.each(['api', 'worker'])('while its modules start: the %s ends with 0', async (role) => {
    expect(await stopAt('LISTENS-LOADED', role)).toEqual({ code: 0, signal: null, isStopped: true });
  });

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('an operator command ends by %s, too, with %i', async (signal, code) => {
    // Held, the lock of migrations (libs/database/migrate) keeps the command from ending by itself.
    const holder = await platform.pool.connect();
    try {
      await holder.query('SELECT pg_advisory_lock(72707369)');
      const child = spawn(process.execPath, ['--import', pathToFileURL(report).href, 'bin/darkroom.mjs', 'migrate'], {
        env: { ...platform.settings, PATH: process.env['PATH'] },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      child.stdout.once('data', () => child.kill(signal));
      expect(await once(child, 'close')).toEqual([code, null]);
    } finally {
      holder.release(true);
    }
  });
});

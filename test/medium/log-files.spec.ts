import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { appendFile, mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startChild } from '#embedded/child.js';
import { waitUntil } from '#embedded/wait-until.js';
import { LogFiles, rotateLog } from '../../apps/standalone/src/platform/log-files.js';
import { patient } from '../support/patience.js';

const BOUNDS = { maxBytes: 100_000, older: 4 };
/**
 * Writes numbered lines of 100 bytes in bursts, the last hundred when it is told to, and ends. Not before: on a busy machine
 * the process that empties the log may be kept waiting just before it does, and that loses what is written meanwhile.
 */
const WRITER = `
let line = 0;
const write = (most, then) => {
  let text = '';
  for (const end = Math.min(line + 200, most); line < end; line++) text += String(line).padStart(99, ' ') + '\\n';
  process.stdout.write(text, then);
};
const burst = () =>
  write(29_900, () => (line < 29_900 ? setImmediate(burst) : require('node:fs').writeFileSync(process.argv[1], '')));
const alive = setInterval(() => undefined, 1_000);
process.once('SIGUSR2', () => { write(30_000); clearInterval(alive); });
burst();`;
let folder: string;
let log: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'darkroom-logs-'));
  log = join(folder, 'api.log');
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function size(file: string): Promise<number> {
  return (await stat(file)).size;
}

it('M4: keeps the log of a process that writes on and on within its bounds, the newest lines in it', async () => {
  const logs = new LogFiles([log, join(folder, 'never-written.log')], BOUNDS);
  const env = { PATH: process.env['PATH'] };
  const paused = join(folder, 'writer.paused');
  const writer = await startChild({
    command: process.execPath,
    args: ['-e', WRITER, paused],
    env,
    log,
    deathSignal: 'SIGKILL',
  });
  logs.watch(5);
  const atRest = async (): Promise<boolean> => existsSync(paused) && (await size(log)) <= BOUNDS.maxBytes;
  expect(await waitUntil(atRest, { timeoutMs: 30_000 })).toBe(true);
  await rm(paused);
  process.kill(writer.pid, 'SIGUSR2');
  expect(await writer.exited).toEqual({ code: 0, signal: null });
  expect(await waitUntil(async () => (await size(log)) <= BOUNDS.maxBytes, { timeoutMs: 30_000 })).toBe(true);
  logs.stop();
  const names = (await readdir(folder)).sort();
  expect(['api.log', 'api.log.1', 'api.log.2', 'api.log.3', 'api.log.4']).toEqual(expect.arrayContaining(names));
  let total = 0;
  for (const name of names) {
    const { size: bytes, mode } = await stat(join(folder, name));
    total += bytes;
    expect(mode & 0o777).toBe(0o600);
  }
  // 3 MB were written. A file ends on what came while it was copied, a megabyte at most.
  expect(total).toBeLessThan(2_000_000);
  const newest = await readFile((await size(log)) > 0 ? log : `${log}.1`, 'utf8');
  expect(newest).toMatch(/ 29999\n$/);
});

it('puts the end of a full log aside, forgets the oldest, and leaves what is small or absent alone', async () => {
  for (let turn = 1; turn <= 6; turn++) {
    await appendFile(log, `${String(turn).repeat(150_000)}\n`);
    expect(rotateLog(log, BOUNDS)).toBe(true);
    expect(await size(log)).toBe(0);
  }
  expect((await readdir(folder)).sort()).toEqual(['api.log', 'api.log.1', 'api.log.2', 'api.log.3', 'api.log.4']);
  for (let age = 1; age <= 4; age++)
    expect(await readFile(`${log}.${age}`, 'utf8')).toBe(`${String(7 - age).repeat(99_999)}\n`);
  await appendFile(log, 'a line\n');
  expect(rotateLog(log, BOUNDS)).toBe(false);
  expect(rotateLog(join(folder, 'absent.log'), BOUNDS)).toBe(false);
  expect(await readFile(log, 'utf8')).toBe('a line\n');
});

it('a log that can’t be written costs its lines, and neither ends nor blocks the process', () => {
  const logger = pathToFileURL(join('dist', 'libs', 'telemetry', 'logger.js')).href;
  const script = `import { Logger } from '${logger}';
    const logger = new Logger('api', 'info');
    for (let line = 0; line < 20; line++) {
      logger.info('request', { count: line });
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    process.exit(3);`;
  const full = openSync('/dev/full', 'w');
  const stdio = ['ignore', full, 'inherit'] as const;
  const args = ['--input-type=module', '--eval', script];
  const { status } = spawnSync(process.execPath, args, { stdio: [...stdio], timeout: patient(60_000) });
  closeSync(full);
  expect(status).toBe(3);
});

it('a log is written again when its disk has room again, however many lines were dropped', async () => {
  const logger = pathToFileURL(join('dist', 'libs', 'telemetry', 'logger.js')).href;
  const script = `import fs from 'node:fs';
    const write = fs.write;
    const noRoom = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    fs.write = (...args) => { setImmediate(args.at(-1), noRoom); };
    const { Logger } = await import('${logger}');
    const logger = new Logger('api', 'info');
    for (let line = 0; line < 6_000; line++) {
      logger.info('request', { model: 'a line '.repeat(150) });
      if (line % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    fs.write = write;
    const until = async (isWritten, again) => {
      while (!isWritten(fs.readFileSync(process.argv[1], 'utf8')) && process.uptime() < ${patient(60)}) {
        again?.();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    await until((log) => log.length > 4_000_000, () => logger.info('request', { model: 'a line '.repeat(150) }));
    logger.info('written');
    await until((log) => log.endsWith('"written"}\\n'));
    process.exit(3);`;
  const file = openSync(log, 'w');
  const args = ['--input-type=module', '--eval', script, log];
  const { status } = spawnSync(process.execPath, args, {
    stdio: ['ignore', file, 'inherit'],
    timeout: patient(120_000),
  });
  closeSync(file);
  expect(status).toBe(3);
  const lines = (await readFile(log, 'utf8')).trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(1_000);
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ event: 'written' });
});

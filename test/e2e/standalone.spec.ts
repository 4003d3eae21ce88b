import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client } from 'pg';
import { startChild, type Child } from '#embedded/child.js';
import { freePort } from '../support/free-port.js';
import { patient } from '../support/patience.js';
import { LONG_TIMEOUTS } from '../support/platform.js';
import { isRunning } from '#embedded/leftover.js';
import { waitUntil } from '#embedded/wait-until.js';

// Real: everything; the product is started as an operator starts it, with its own Postgres and Redis.
const MAIN = resolve('bin', 'darkroom.mjs');
const READY = 'Ctrl-C stops everything.';
let folder: string;
let dataDir: string;
let port: number;
let product: Child | undefined;
let runs = 0;

interface State {
  url: string;
  apiKey: string;
  databaseUrl: string;
  redisUrl: string;
  pids: { api: number[]; worker: number[]; redis: number; postgres: number };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'darkroom-standalone-'));
  dataDir = join(folder, 'data');
  port = await freePort();
});

afterAll(async () => {
  await product?.stop([['SIGTERM', patient(60_000)]]);
  await rm(folder, { recursive: true, force: true });
});

function environment(changes: Record<string, string> = {}): Record<string, string | undefined> {
  return { PATH: process.env['PATH'], HOME: folder, PORT: String(port), DATA_DIR: dataDir, ...changes };
}

/** Starts the product and waits until it says that it is ready, or has ended. */
async function start(changes: Record<string, string> = {}): Promise<{ child: Child; output: () => Promise<string> }> {
  const log = join(folder, `terminal-${runs++}.txt`);
  const env = environment({ ...LONG_TIMEOUTS, ...changes });
  const child = await startChild({
    command: process.execPath,
    args: [MAIN, 'start'],
    env,
    log,
    deathSignal: 'SIGTERM',
  });
  const output = (): Promise<string> => readFile(log, 'utf8');
  await waitUntil(async () => !child.running || (await output()).includes(READY), { timeoutMs: 120_000 });
  return { child, output };
}

async function startProduct(changes?: Record<string, string>): Promise<string> {
  const { child, output } = await start(changes);
  product = child;
  const text = await output();
  if (!text.includes(READY)) throw new Error(`the product did not start:\n${text}`);
  return text;
}

async function state(): Promise<State> {
  return JSON.parse(await readFile(join(dataDir, 'standalone.json'), 'utf8')) as State;
}

/** The keys of the product, the printed one first. */
async function keys(): Promise<{ name: string; created_by: string | null; hidden: boolean; used: boolean }[]> {
  const client = new Client({ connectionString: (await state()).databaseUrl });
  await client.connect();
  try {
    const text = 'SELECT name, created_by, hidden, last_used_at IS NOT NULL AS used FROM api_keys ORDER BY hidden';
    return (await client.query<Awaited<ReturnType<typeof keys>>[number]>(text)).rows;
  } finally {
    await client.end();
  }
}

function pidsOf({ pids }: State): number[] {
  return [...pids.api, ...pids.worker, pids.redis, pids.postgres];
}

async function run(command: string, args: readonly string[], options: { env?: Record<string, string> } = {}) {
  const env = environment(options.env);
  const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: patient(60_000) });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

const PNG = Buffer.from('89504e470d0a1a0a', 'hex');

it('goes from an empty folder to an image, and says how to make the next one', async () => {
  const text = await startProduct();
  const { url, apiKey } = await state();
  expect(url).toBe(`http://127.0.0.1:${port}`);
  expect(apiKey).toMatch(/^sk-dr-[A-Za-z0-9_-]{43}$/);
  expect(text).toContain(apiKey);
  const image = await readFile(join(dataDir, 'first-image.png'));
  expect(image.subarray(0, 8)).toEqual(PNG);
  expect(text).toContain(`${join(dataDir, 'first-image.png')} (2048x2048, made in`);
  // The image was no use of the printed key: the console tells by it whether somebody has called.
  expect(await keys()).toEqual([{ name: 'first key', created_by: 'setup', hidden: false, used: false }]);
  const pasted = text.split('\n').find((line) => line.startsWith('curl ')) ?? '';
  expect(await run('sh', ['-c', pasted])).toEqual({ code: 0, output: '' });
  expect((await readFile(join(folder, 'fox.png'))).subarray(0, 8)).toEqual(PNG);
  const isNoted = async () => (await keys()).every(({ used }) => used);
  expect(await waitUntil(isNoted, { timeoutMs: 120_000 })).toBe(true);
});

it('shows its state and its secrets to nobody else', async () => {
  expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
  for (const name of ['standalone.json', 'secrets.json', 'logs/api.log', 'logs/worker.log'])
    expect((await stat(join(dataDir, name))).mode & 0o777).toBe(0o600);
  expect(pidsOf(await state()).every(isRunning)).toBe(true);
});

it('has images given back to the system by the malloc of its processes', async () => {
  const { pids } = await state();
  for (const pid of [...pids.api, ...pids.worker]) {
    const environ = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
    expect(environ).toContain('MALLOC_MMAP_THRESHOLD_=131072');
  }
});

it('is refused on the same data folder, and on the same port', async () => {
  const sameFolder = await start({ PORT: String(await freePort()) });
  expect(await sameFolder.child.exited).toEqual({ code: 1, signal: null });
  expect(await sameFolder.output()).toMatch(/^Darkroom already runs on this data folder \(process \d+\)\..*DATA_DIR/);
  const samePort = await start({ DATA_DIR: join(folder, 'other') });
  expect(await samePort.child.exited).toEqual({ code: 1, signal: null });
  expect(await samePort.output()).toMatch(new RegExp(`^Port ${port} on 127.0.0.1 can't be used.*PORT=`));
});

it('is found healthy by the doctor, except for a models file that can not be used', async () => {
  const found = await run(process.execPath, [MAIN, 'doctor']);
  expect(found.output).not.toMatch(/^fail/m);
  expect(found.output.match(/^ok {4}/gm)?.length).toBeGreaterThanOrEqual(10);
  expect(found.code).toBe(0);
  const rejected = join(folder, 'rejected.yaml');
  await writeFile(rejected, 'providers: {}\nmodels: 3\n');
  const wrong = await run(process.execPath, [MAIN, 'doctor'], { env: { MODELS_FILE: rejected } });
  expect(wrong.output.match(/^fail .*/gm)).toEqual([
    expect.stringMatching(/^fail {2}models .*rejected.yaml can't be used/),
  ]);
});

it('is found by the doctor at its public URL or not, and in its data folder or not', async () => {
  const unanswered = async (address: string): Promise<[string[] | null, number | null]> => {
    const { output, code } = await run(process.execPath, [MAIN, 'doctor'], { env: { PUBLIC_URL: address } });
    return [output.match(/^(?!ok ).* public url.*/gm), code];
  };
  const closed = await freePort();
  expect(await unanswered(`http://localhost:${closed}`)).toEqual([
    [expect.stringMatching(/^warn .*nothing answers it here/)],
    0,
  ]);
  expect(await unanswered('http://images.invalid')).toEqual([[expect.stringMatching(/^fail /)], 1]);
  // The API answers under any spelling of its address and under any path that a proxy removes, with links to its own.
  expect(await unanswered(`http://localhost:${port}`)).toEqual([[expect.stringMatching(/another PUBLIC_URL/)], 1]);
  const misplaced = await run(process.execPath, [MAIN, 'doctor'], {
    env: { PUBLIC_URL: `http://127.0.0.1:${port}/v1` },
  });
  expect([misplaced.output, misplaced.code]).toEqual([expect.stringContaining('begins with /v1'), 1]);
  const nothing = join(folder, 'nothing');
  const alone = await run(process.execPath, [MAIN, 'doctor'], { env: { DATA_DIR: nothing } });
  expect(alone.output.match(/^fail .*/gm)).toEqual([expect.stringContaining(`nothing runs on ${nothing}`)]);
  expect([alone.code, existsSync(nothing)]).toEqual([1, false]);
});

it('lends the keys command its database', async () => {
  const created = await run(process.execPath, [MAIN, 'keys', 'create', '--name', 'team a']);
  const key = created.output.split('\n')[0] ?? '';
  const models = await fetch(`${(await state()).url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  expect(models.status).toBe(200);
  const listed = await run(process.execPath, [MAIN, 'keys', 'list']);
  expect(listed.output).toContain('team a');
  expect(listed.output).not.toContain(key);
  const limits = ['--weight', '3', '--tasks-in-flight', '0', '--polls-per-minute', '90'];
  await run(process.execPath, [MAIN, 'keys', 'update', key.slice(0, 12), ...limits]);
  expect((await run(process.execPath, [MAIN, 'keys', 'list'])).output).toMatch(
    /team a.*weight 3, submits\/min default, polls\/min 90, in flight any/,
  );
  expect((await run(process.execPath, [MAIN, 'keys', 'update', key.slice(0, 12), '--weight', '0'])).output).toContain(
    'It must be a whole number from 1 to 100',
  );
  await run(process.execPath, [MAIN, 'keys', 'revoke', key.slice(0, 12)]);
  expect((await run(process.execPath, [MAIN, 'keys', 'list'])).output).toMatch(/team a.*revoked/);
});

it.each(['worker', 'api', 'redis', 'postgres'] as const)(
  'starts a killed %s again and tells scripts about it',
  async (role) => {
    const pidOf = ({ pids }: State): number => [pids[role]].flat()[0] ?? 0;
    const before = pidOf(await state());
    process.kill(before, 'SIGKILL');
    const changed = await waitUntil(async () => pidOf(await state()) !== before, { timeoutMs: 60_000 });
    expect(changed).toBe(true);
    const after = await state();
    expect(isRunning(pidOf(after))).toBe(true);
    expect(product?.lastLines(40).join('\n')).toMatch(new RegExp(`${role} exited unexpectedly .*SIGKILL`, 'i'));
    // Whatever was killed, the next image is made by what runs now.
    const generated = await waitUntil(() => makesImage(after), { timeoutMs: 60_000 });
    expect(generated).toBe(true);
  },
);

let boats = 0;
/** Another one each time: the task of an equal request would be answered again. */
async function makesImage({ url, apiKey }: State): Promise<boolean> {
  const response = await fetch(`${url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-image-2', prompt: `a small boat ${++boats}`, resolution: '1k' }),
    signal: AbortSignal.timeout(patient(30_000)),
  }).catch(() => undefined);
  await response?.arrayBuffer().catch(() => undefined);
  return response?.status === 200;
}

it('M4: puts a full log aside while it runs, and goes on in an empty one', async () => {
  const log = join(dataDir, 'logs', 'api.log');
  await appendFile(log, Buffer.alloc(10_100_000, 'full\n'));
  const sizeOf = (file: string) =>
    stat(file).then(
      ({ size }) => size,
      () => 0,
    );
  const isAside = async () => (await sizeOf(`${log}.1`)) > 9_000_000 && (await sizeOf(log)) < 1_000_000;
  expect(await waitUntil(isAside, { timeoutMs: 60_000 })).toBe(true);
  await fetch(`${(await state()).url}/v1/models`);
  expect(await waitUntil(async () => (await readFile(log, 'utf8')).includes('/v1/models'), { timeoutMs: 60_000 })).toBe(
    true,
  );
  expect(await sizeOf(log)).toBeLessThan(1_000_000);
});

it('stops cleanly, leaves nothing running, and keeps key and image for the next start', async () => {
  const before = await state();
  const image = await stat(join(dataDir, 'first-image.png'));
  product?.kill('SIGTERM');
  product?.kill('SIGINT');
  expect(await product?.exited).toEqual({ code: 0, signal: null });
  expect(pidsOf(before).filter(isRunning)).toEqual([]);
  await expect(stat(join(dataDir, 'standalone.json'))).rejects.toThrow('ENOENT');
  await startProduct();
  const after = await state();
  expect({ ...after, pids: {} }).toEqual({ ...before, pids: {} });
  expect(await stat(join(dataDir, 'first-image.png'))).toMatchObject({ mtimeMs: image.mtimeMs });
});

it('leaves nothing behind that the next start can not end, even when it is killed', async () => {
  const before = await state();
  product?.kill('SIGKILL');
  await product?.exited;
  await startProduct();
  expect(pidsOf(before).filter(isRunning)).toEqual([]);
  const after = await state();
  expect(after.apiKey).toBe(before.apiKey);
  expect(await makesImage(after)).toBe(true);
});

it('M4: keeps the newest 10 MB of a log, and four older ones', async () => {
  const log = join(dataDir, 'logs', 'api.log');
  for (const age of [1, 2, 3, 4]) await writeFile(`${log}.${age}`, `was ${age}`);
  await appendFile(log, 'new'.repeat(4_000_000));
  const oldOf = (age: number) => readFile(`${log}.${age}`, 'utf8');
  const isAside = async () => (await stat(log)).size < 1_000_000;
  expect(await waitUntil(isAside, { timeoutMs: 60_000 })).toBe(true);
  expect(await oldOf(1)).toContain('new'.repeat(3_000_000));
  expect((await stat(`${log}.1`)).size).toBeLessThan(11_100_000);
  expect(await Promise.all([2, 3, 4].map(oldOf))).toEqual(['was 1', 'was 2', 'was 3']);
  expect(existsSync(`${log}.5`)).toBe(false);
});

it('tells every setting that can not be used, and what is misspelled, before anything runs', async () => {
  const other = join(folder, 'refused');
  const changes = { STORAGE: 'tape', RATE_POLLS_PER_MINUTE: 'many', WORKER_CONCURENCY: '5', DATABASE_POL: '4' };
  const { child, output } = await start({ DATA_DIR: other, PORT: String(await freePort()), ...changes });
  expect(await child.exited).toEqual({ code: 1, signal: null });
  const text = await output();
  expect(text).toMatch(/^Invalid settings:$/m);
  for (const name of ['STORAGE', 'RATE_POLLS_PER_MINUTE'])
    expect(text).toMatch(new RegExp(`^ {2}- ${name} must be`, 'm'));
  expect(text).toContain('WORKER_CONCURENCY is not a setting. Did you mean WORKER_CONCURRENCY?');
  expect(text).toContain('DATABASE_POL is not a setting. Did you mean DATABASE_POOL?');
  expect(existsSync(join(other, 'postgres'))).toBe(false);
  const rejected = { MODELS_FILE: join(folder, 'rejected.yaml') };
  const models = await start({ DATA_DIR: other, PORT: String(await freePort()), ...rejected });
  expect(await models.child.exited).toEqual({ code: 1, signal: null });
  expect(await models.output()).toMatch(/^.*rejected.yaml can't be used/m);
  for (const one of [text, await models.output()]) expect(one).not.toMatch(/^ {4}at /m);
  const told = await run(process.execPath, [MAIN, 'doctor'], { env: changes });
  expect(told.output).toMatch(/^fail {2}settings .*RATE_POLLS_PER_MINUTE must be/m);
  expect(told.output).toMatch(/^warn {2}settings .*Did you mean WORKER_CONCURRENCY\?$/m);
});

it('tells what is wrong with a process that can not start, and stops the rest', async () => {
  const other = join(folder, 'wrong');
  const taken = String(port);
  const { child, output } = await start({ DATA_DIR: other, PORT: String(await freePort()), WORKER_HEALTH_PORT: taken });
  expect(await child.exited).toEqual({ code: 1, signal: null });
  expect(await output()).toMatch(/worker process exited during startup.*EADDRINUSE/s);
  expect(await output()).not.toMatch(/^ {4}at /m);
  await expect(stat(join(other, 'postgres', 'data', 'postmaster.pid'))).rejects.toThrow('ENOENT');
});

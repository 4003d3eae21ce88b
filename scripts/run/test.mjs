// npm run test:faults [-- --minutes N --seed S --record]: random faults for minutes; see test/faults/long.
// npm run test:quick [-- jest arguments]: the unit and the medium tests, for daily work.
// npm test [-- jest arguments]: installs, builds, starts real services, runs all tests, stops the services.
// To use your own services: TEST_POSTGRES_URL, TEST_REDIS_URL, TEST_S3_ENDPOINT with the other TEST_S3_* variables.
// TEST_SLOWNESS=5 makes time limits five times as long, instead of what was measured; TEST_PROPERTY_RUNS=20 runs
// property tests 20 times as often; TEST_LONG=true runs load tests with their full load.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { hasClients } from './client-packages.mjs';
import { writeFigures } from './fault-figures.mjs';
import { measureSlowness, SPARE } from './machine-speed.mjs';
import { prepare, releaseSignals, ROOT } from '../build/prepare.mjs';

// The reminder about later Node versions concerns changes of "engines", not every test run.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';
const PROJECTS = ['unit', 'medium', 'e2e', 'browser', 'balancer', 'property', 'clients', 'faults'];
/** Only on request: random faults for minutes. */
const LONG = 'long-faults';
/** Optional programs: tests that need a missing one are skipped. */
const PROGRAMS = {
  browser: [
    'TEST_CHROMIUM',
    ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
  ],
  balancer: ['TEST_HAPROXY', ['haproxy']],
};
/**
 * Every test file reloads its modules, which creates much garbage; a larger semi-space makes jest and its workers
 * collect it less often.
 */
const COLLECT_LESS = ['--max-semi-space-size=64'];
/** Test files at a time; many of them wait. On 2 cores, 4 left a fifth of the CPU time idle, and 8 were no faster than 4. */
const WORKERS = 6;
/** Patience (`TEST_SLOWNESS`) above which fewer run at a time: less than one core is left, which one file keeps busy. */
const CROWDED = 9;
const stops = [];
const controller = new AbortController();

await prepare({ tools: true });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => controller.abort());
releaseSignals();
const folder = await mkdtemp(join(tmpdir(), 'darkroom-test-'));
stops.push(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
let outcome = { passed: 0, failed: 0, code: 1 };
try {
  const { projects: wanted, rest } = readArguments(takeOptions(process.argv.slice(2)));
  const runnable = wanted.filter(hasProgram);
  const clients = runnable.includes('clients') && (await hasClients((line) => process.stdout.write(`${line}\n`)));
  const projects = runnable.filter((project) => project !== 'clients' || clients);
  const services = projects.some((project) => project !== 'unit') ? await startServices() : {};
  process.env.TEST_SLOWNESS ??= String(await measureSlowness(WORKERS, services.TEST_POSTGRES_URL));
  process.stdout.write(`Time limits that catch hanging tests: ${Number(process.env.TEST_SLOWNESS).toFixed(1)} x\n`);
  outcome = await runJest([...rest, '--selectProjects', ...projects], services);
  const figures = process.env.TEST_FAULT_FIGURES;
  if (figures !== undefined && outcome.code === 0) await writeFigures(figures);
} catch (error) {
  const expected = ['SetupError', 'MigrationError', 'AbortError'].includes(error.name);
  process.stderr.write(`${expected ? error.message : error.stack}\n`);
} finally {
  for (const stop of stops.reverse()) await stop();
}
process.exitCode = outcome.code;
process.stdout.write(`${outcome.passed} passed, ${outcome.failed} failed\n`);

/** Passes the options of the fault tests on by environment, and returns the remaining arguments. */
function takeOptions(args) {
  const rest = [...args];
  for (const [option, name] of [
    ['--minutes', 'TEST_FAULT_MINUTES'],
    ['--seed', 'TEST_FAULT_SEED'],
  ]) {
    const at = rest.indexOf(option);
    if (at !== -1) process.env[name] = rest.splice(at, 2)[1];
  }
  const record = rest.indexOf('--record');
  if (record !== -1) {
    rest.splice(record, 1);
    process.env.TEST_FAULT_FIGURES = join(folder, 'figures.jsonl');
  }
  return rest;
}

/** jest takes every word after --selectProjects for a project; this treats the others as paths. */
function readArguments(args) {
  const at = args.indexOf('--selectProjects');
  if (at === -1) return { projects: PROJECTS, rest: args };
  let end = at + 1;
  while (PROJECTS.includes(args[end]) || args[end] === LONG) end++;
  return { projects: args.slice(at + 1, end), rest: [...args.slice(0, at), ...args.slice(end)] };
}

/** Whether a project can run here; says why not. Passes the path of its program to the tests. */
function hasProgram(project) {
  const [name, files] = PROGRAMS[project] ?? [];
  if (name === undefined) return true;
  const folders = ['/usr/bin', '/usr/sbin', ...(process.env.PATH ?? '').split(delimiter)];
  process.env[name] ??= folders.flatMap((folder) => files.map((file) => join(folder, file))).find(existsSync) ?? '';
  if (process.env[name] !== '') return true;
  process.stdout.write(`No ${files[0]} was found (${name} or PATH): the ${project} tests are left out.\n`);
  return false;
}

/** The environment with the addresses of the services for the tests. */
async function startServices() {
  const { signal } = controller;
  const password = randomBytes(24).toString('base64url');
  const dist = (file) => import(join(ROOT, 'dist', 'libs', file));
  const template = `darkroom_test_${randomBytes(4).toString('hex')}`;
  // Waits for all: a service that started while another failed must be stopped, or it keeps this process alive.
  const starts = await Promise.allSettled([
    process.env.TEST_POSTGRES_URL ?? startPostgres(await dist('embedded/postgres.js'), password, signal),
    process.env.TEST_REDIS_URL ?? startRedis(await dist('embedded/redis.js'), password, signal),
    process.env.TEST_S3_ENDPOINT === undefined ? startS3() : {},
  ]);
  const refused = starts.find(({ status }) => status === 'rejected');
  if (refused !== undefined) throw refused.reason;
  const [postgresUrl, redisUrl, s3] = starts.map(({ value }) => value);
  await makeTemplate(postgresUrl, template, await dist('database/migrate.js'));
  return { TEST_POSTGRES_URL: postgresUrl, TEST_REDIS_URL: redisUrl, TEST_TEMPLATE_DATABASE: template, ...s3 };
}

async function startPostgres({ startPostgres: start }, password, signal) {
  const log = join(folder, 'postgres.log');
  const server = await start({
    folder: join(folder, 'postgres'),
    password,
    database: 'postgres',
    log,
    durable: false,
    signal,
  });
  stops.push(() => server.stop());
  return server.url;
}

async function startRedis({ startRedis: start }, password, signal) {
  const server = await start({
    folder: join(folder, 'redis'),
    password,
    log: join(folder, 'redis.log'),
    toolFolders: [join(ROOT, 'node_modules', '.cache', 'darkroom'), join(folder, 'tools')],
    durable: false,
    onDownload: () => process.stdout.write('Fetching Redis ...\n'),
    signal,
  });
  stops.push(() => server.stop());
  return server.url;
}

async function startS3() {
  const { startS3Server } = await import('../../test/support/s3-server.mjs');
  const server = await startS3Server();
  stops.push(() => server.stop());
  return {
    TEST_S3_ENDPOINT: server.endpoint,
    TEST_S3_REGION: server.region,
    TEST_S3_ACCESS_KEY_ID: server.accessKeyId,
    TEST_S3_SECRET_ACCESS_KEY: server.secretAccessKey,
    TEST_S3_BUCKET: server.bucket,
    TEST_S3_STRICT: String(server.strict),
  };
}

/** Migrates the database that each test file clones; at the end, drops it and all clones. */
async function makeTemplate(postgresUrl, template, { migrate }) {
  const { default: pg } = await import('pg');
  const withAdmin = async (work) => {
    const client = new pg.Client({ connectionString: postgresUrl, connectionTimeoutMillis: 10_000 });
    await client.connect();
    await work(client).finally(() => client.end());
  };
  await withAdmin((client) => client.query(`CREATE DATABASE "${template}"`));
  stops.push(() =>
    withAdmin(async (client) => {
      const { rows } = await client.query('SELECT datname FROM pg_database WHERE starts_with(datname, $1)', [template]);
      for (const { datname } of rows) await client.query(`DROP DATABASE "${datname}" WITH (FORCE)`);
    }),
  );
  const url = new URL(postgresUrl);
  url.pathname = `/${template}`;
  await migrate(url.href, join(ROOT, 'prisma', 'migrations'));
}

/** Darkroom settings in the caller's environment must not reach the tests. */
function testEnvironment(services) {
  const kept = /^(PATH|HOME|USER|LANG|LC_.*|TMPDIR|TERM|CI|COLORTERM|FORCE_COLOR|NO_COLOR|npm_.*|.*_PROXY|.*_proxy)$/;
  const entries = Object.entries(process.env).filter(([name]) => kept.test(name) || name.startsWith('TEST_'));
  return {
    ...Object.fromEntries(entries),
    ...services,
    NODE_ENV: 'test',
    npm_lifecycle_event: 'test',
    NODE_OPTIONS: '--experimental-vm-modules --no-warnings',
  };
}

/** More would only wait for each other, longer than leases and pauses of the product under test last. */
function filesAtATime(slowness) {
  return slowness > CROWDED ? Math.max(1, Math.round((WORKERS * SPARE) / slowness)) : WORKERS;
}

function runJest(args, services) {
  const counts = join(folder, 'counts.json');
  const reporters = ['--reporters=default', `--reporters=${join(ROOT, 'scripts', 'run', 'count-reporter.mjs')}`];
  const workers = args.some((arg) => /^(--maxWorkers|-w|--runInBand|-i)\b/.test(arg))
    ? []
    : [`--maxWorkers=${filesAtATime(Number(process.env.TEST_SLOWNESS))}`];
  return new Promise((resolve, reject) => {
    const jest = spawn(
      process.execPath,
      [
        ...COLLECT_LESS,
        join(ROOT, 'tools', 'node_modules', 'jest', 'bin', 'jest.js'),
        ...reporters,
        ...workers,
        // What a worker has left open keeps it for longer; on a busy machine, half a second is not enough to end at all.
        `--workerGracefulExitTimeout=${Math.round(1_000 * Number(process.env.TEST_SLOWNESS))}`,
        ...args,
      ],
      {
        cwd: ROOT,
        env: { ...testEnvironment(services), DARKROOM_TEST_COUNTS: counts },
        stdio: ['ignore', 'inherit', 'inherit'],
        // In a process group of its own, so that its workers end with it.
        detached: true,
      },
    );
    const stop = () => {
      if (jest.pid === undefined) return;
      try {
        process.kill(-jest.pid, 'SIGTERM');
      } catch (error) {
        if (error.code !== 'ESRCH') throw error;
      }
    };
    controller.signal.addEventListener('abort', stop);
    if (controller.signal.aborted) stop();
    jest.once('error', reject);
    jest.once('exit', async (code) => {
      const counted = await readFile(counts, 'utf8').then(JSON.parse, () => ({ passed: 0, failed: 1 }));
      resolve({ ...counted, code: code ?? 1 });
    });
  });
}

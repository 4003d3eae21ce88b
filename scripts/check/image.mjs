// Builds deploy/Dockerfile and runs the image like docker-compose.yml: hardened, with a real Postgres, Redis and S3.
// usage: node scripts/check/image.mjs [--all-drills], as root on Debian with the PROGRAMS below.
// Exits with 1 when the image fails, and with 75 on a machine that can't run containers at all.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import sharp from 'sharp';
import { timeLimit } from '#egress/time-limit.js';
import { freePort } from '#embedded/free-port.js';
import { startPostgres } from '#embedded/postgres.js';
import { startRedis } from '#embedded/redis.js';
import { startS3Server } from '../../test/support/s3-server.mjs';
import { readCompose } from './deploy-rules/compose.mjs';
import { makeBase } from './image/base.mjs';
import { runDrills } from './image/drills.mjs';
import { environmentOf, hardeningFlags, secondsOf } from './image/compose-service.mjs';
import { Engine, removeFolder } from './image/engine.mjs';
import { figuresOf, hardeningProblems } from './image/inspect-processes.mjs';
import { interruption } from './image/run.mjs';
import { ROOT } from '../build/prepare.mjs';

const PROGRAMS = ['buildah', 'podman', 'runc', 'conmon', 'catatonit', 'debootstrap', 'haproxy'];
/** From sysexits.h: the machine is the problem, not the image. */
const EX_TEMPFAIL = 75;
const MAX_BYTES = 350e6;
const TAG = 'localhost/darkroom:check';
const READY_MS = 60_000;
const ANSWER_MS = 60_000;
/** The last step; also runs after an interruption. */
const CLEAN_UP = 'clean-up';
/** Duration of the image that is being generated while worker and API are stopped. */
const LATENCY_S = 6;

/** Lets a role exit for lack of settings; exits with 0 if its code caches match the Node of the image. */
const CACHE_PROBE = `
  const { compiledAnew, loadBundle } = await import('/app/dist/bin/load-bundle.mjs');
  process.on('exit', () => (process.exitCode = compiledAnew().length));
  loadBundle('ROLE.cjs');`;

for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => interruption.abort(new Error(`ended by ${signal}`)));
const folder = mkdtempSync(join(tmpdir(), 'darkroom-image-'));
const engine = new Engine(join(folder, 'engine'));
const { services } = readCompose(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8')).document;
const servers = [];
let settings;
let machineFailed = false;

try {
  if (process.getuid() !== 0) throw new Error('only root can make and run images in this way');
  const missing = PROGRAMS.filter((name) => !['/usr/bin', '/usr/sbin'].some((bin) => existsSync(join(bin, name))));
  if (missing.length > 0) throw new Error(`missing: apt-get install --no-install-recommends ${missing.join(' ')}`);
  await Promise.all([step('image', makeImage), step('services', startServices)].map(settled)).then(throwFirst);
  await step('set-up', setUp);
  await step('processes', startProcesses);
  await step('first image', async () => [await generate(), ...(await memory())].join('; '));
  await step('doctor', checkSetUp);
  await step('stop', stopWithTaskInHand);
  await step('drills', () => runDrills(engine, services, TAG, folder, { all: process.argv.includes('--all-drills') }));
} catch (error) {
  console.log(error.message);
  for (const name of engine.containers.keys()) console.log(`-- last lines of the ${name}:\n${engine.linesOf(name)}`);
  process.exitCode = machineFailed ? EX_TEMPFAIL : 1;
} finally {
  await step(CLEAN_UP, async () => {
    await engine.remove();
    await Promise.allSettled(servers.map((server) => server.stop()));
    await removeFolder(folder);
  });
}

/** Runs a step and prints its result and duration. Throws with its name. */
async function step(name, work) {
  const begin = performance.now();
  const seconds = () => `${((performance.now() - begin) / 1000).toFixed(0)} s`;
  if (name !== CLEAN_UP) interruption.signal.throwIfAborted();
  const said = await work().catch((error) => {
    throw new Error(`FAILED ${name}, ${seconds()}: ${error.message}`, { cause: error });
  });
  console.log(`ok     ${name}, ${seconds()}${said === undefined ? '' : `: ${said}`}`);
}

function settled(promise) {
  return promise.then(
    () => undefined,
    (error) => error,
  );
}

/** Throws the first error after both have settled, so that the clean-up finds everything that runs. */
function throwFirst(errors) {
  const [error] = errors.filter((one) => one !== undefined);
  if (error !== undefined) throw error;
}

async function makeImage() {
  const tag = /^ARG NODE_IMAGE=(\S+)$/m.exec(readFileSync(join(ROOT, 'deploy', 'Dockerfile'), 'utf8'))?.[1] ?? '';
  machineFailed = true;
  await step('base image', async () => {
    await engine.import(await makeBase(tag, join(folder, 'base')), `docker.io/library/${tag}`);
    await engine.once(['--cgroup-parent', `/${engine.cgroup}`], tag, ['true']);
  });
  machineFailed = false;
  await engine.build(ROOT, join(ROOT, services.migrate.build.dockerfile), TAG);
  const base = await engine.bytesOf(tag);
  const bytes = await engine.bytesOf(TAG);
  const size = `${megabytes(bytes)}, of which ${megabytes(base)} are Debian, Node and npm`;
  if (bytes > MAX_BYTES) throw new Error(`the image has ${size}; ${megabytes(MAX_BYTES)} are allowed`);
  return size;
}

async function startServices() {
  const password = randomBytes(24).toString('base64url');
  const own = (name) => ({ folder: join(folder, name), password, log: join(folder, `${name}.log`) });
  const toolFolders = [join(ROOT, 'node_modules', '.cache', 'darkroom'), join(folder, 'tools')];
  const started = await Promise.allSettled([
    startPostgres({ ...own('postgres'), database: 'darkroom', durable: false }),
    startRedis({ ...own('redis'), toolFolders }),
    startS3Server(),
  ]);
  servers.push(...started.filter(({ status }) => status === 'fulfilled').map(({ value }) => value));
  throwFirst(started.map(({ reason }) => reason));
  const [postgres, redis, s3] = servers;
  const url = `http://127.0.0.1:${await freePort()}`;
  settings = {
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    PUBLIC_URL: url,
    S3_ENDPOINT: s3.endpoint,
    SECRET_KEY: randomBytes(32).toString('hex'),
    S3_BUCKET: `darkroom-${randomBytes(4).toString('hex')}`,
    S3_ACCESS_KEY_ID: s3.accessKeyId,
    S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
    S3_REGION: s3.region,
  };
  return s3.strict ? undefined : 'the S3 server verifies nothing here';
}

/** The flags and settings of a service; addresses are of this machine, because containers share its network. */
function flagsOf(name, own = {}) {
  const unused = { POSTGRES_PASSWORD: 'unused', REDIS_PASSWORD: 'unused' };
  const environment = { ...environmentOf(services[name], { ...unused, ...settings }), ...settings, ...own };
  const variables = Object.entries(environment).flatMap(([key, value]) => ['--env', `${key}=${value}`]);
  return [...hardeningFlags(services[name]), `--cgroup-parent=/${engine.cgroup}`, ...variables];
}

async function runOnce(name, command = services[name].command) {
  return await engine.once(flagsOf(name), TAG, command);
}

async function setUp() {
  const migrated = await runOnce('migrate');
  const created = await runOnce('bucket');
  const key = /\bsk-\S+/.exec(await runOnce('migrate', ['keys', 'create', '--name', 'check']))?.[0];
  if (key === undefined) throw new Error('no API key was printed');
  settings.key = key;
  return `${migrated.split(',').length} migrations; ${created}`;
}

async function startProcesses() {
  const { port } = new URL(settings.PUBLIC_URL);
  const metrics = async () => ({ METRICS_HOST: '127.0.0.1', METRICS_PORT: String(await freePort()) });
  const api = { HOST: '127.0.0.1', PORT: port, ...(await metrics()) };
  // Directives in prompts, such as the duration of an image, are off in production.
  const worker = { WORKER_HEALTH_PORT: String(await freePort()), SANDBOX_DIRECTIVES: 'true', ...(await metrics()) };
  engine.start('api', flagsOf('api', api), TAG, services.api.command);
  engine.start('worker', flagsOf('worker', worker), TAG, services.worker.command);
  for (const name of ['api', 'worker']) {
    await untilHealthy(name);
    const processes = await engine.processesOf(name);
    const problems = await hardeningProblems(processes, services[name]);
    const probe = ['--input-type=module', '--eval', CACHE_PROBE.replace('ROLE', name)];
    if (!(await engine.succeeds(name, ['env', '-i', '/usr/local/bin/node', ...probe])))
      problems.push('compiles what the build compiled');
    if (problems.length > 0) throw new Error(`the ${name}'s process ${problems.join(', ')}`);
  }
}

/** Waits for the health check inside the container, like compose. */
async function untilHealthy(name) {
  const [, ...command] = services[name].healthcheck.test;
  const end = performance.now() + READY_MS;
  while (!(await engine.succeeds(name, command))) {
    interruption.signal.throwIfAborted();
    if (engine.containers.get(name).code !== undefined) throw new Error(`the ${name} ended while it was starting`);
    if (performance.now() > end) throw new Error(`the ${name} was not healthy within ${READY_MS / 1000} s`);
    await delay(200);
  }
}

async function post(path, body) {
  return await call(path, { method: 'POST', body: JSON.stringify(body) });
}

async function call(path, init = {}) {
  const answer = await fetch(new URL(path, settings.PUBLIC_URL), {
    ...init,
    headers: { authorization: `Bearer ${settings.key}`, 'content-type': 'application/json' },
    signal: timeLimit(ANSWER_MS, interruption.signal),
  });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  return answer;
}

/** Generates an image, and returns the metadata of its decoded bytes. */
async function generate(prompt = 'A lighthouse at dusk') {
  const request = { model: 'gpt-image-2', prompt, resolution: '1k', response_format: 'b64_json' };
  const { data } = await (await post('/v1/images/generations', request)).json();
  const { info } = await sharp(Buffer.from(data[0].b64_json, 'base64')).raw().toBuffer({ resolveWithObject: true });
  if (info.width * info.height < 500_000) throw new Error(`it has ${info.width}x${info.height} pixels only`);
  return `${info.width}x${info.height}`;
}

/** The memory of both processes after one image. */
async function memory() {
  return await Promise.all(
    ['api', 'worker'].map(async (name) => `${name} ${figuresOf(await engine.processesOf(name))}`),
  );
}

async function checkSetUp() {
  const lines = (await runOnce('migrate', ['doctor'])).split('\n');
  return `${lines.length} checks`;
}

/** Sends SIGTERM to both while a caller waits for an image that the worker has just started. */
async function stopWithTaskInHand() {
  const held = generate(`A harbor in fog [[latency=${LATENCY_S}s]]`);
  held.catch(() => undefined);
  await untilRunning();
  const begin = performance.now();
  const ends = await Promise.all(
    ['api', 'worker'].map(async (name) => {
      const code = await engine.stop(name, secondsOf(services[name].stop_grace_period));
      if (code !== 0) throw new Error(`the ${name} ended with ${code}`);
      return `${name} ended after ${((performance.now() - begin) / 1000).toFixed(1)} s`;
    }),
  );
  return [`the image in hand has ${await held}`, ...ends].join(', ');
}

async function untilRunning() {
  const end = performance.now() + READY_MS;
  for (;;) {
    const { data } = await (await call('/v1/tasks?status=pending')).json();
    if (data.some(({ phase }) => phase === 'running')) return;
    if (performance.now() > end) throw new Error('no worker took the task');
    await delay(100);
  }
}

function megabytes(bytes) {
  return `${Math.round(bytes / 1e6)} MB`;
}

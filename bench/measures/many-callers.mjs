import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { waitUntil } from '#embedded/wait-until.js';
import { megabytes, milliseconds, seconds } from '../figures.mjs';
import { generation } from '../requests.mjs';
import { cpuDuring, memoryOf, memoryOfAll, socketsOf, writtenBy } from '../usage.mjs';

export const title = 'A thousand images a minute: 8,000 callers, two APIs, eight workers';

const WORKERS = 8;
/** How long a real provider call takes in this scenario. */
const REAL_MS = 50_000;
/** Callers arrive in groups of this size, each once the previous one was accepted. */
const AT_ONCE = 100;
const GOAL_API_MB = 400;
const GOAL_LOOP_MS = 150;
const TIMEOUT_MS = 1_200_000;
/** The maximum for a held call; 8,000 at a thousand a minute wait 8 minutes. */
const SYNC_WAIT_MS = 600_000;

/**
 * All callers are accepted while the provider responds to none: its slots are full, the others wait in the queue. Then
 * it responds, and all are served. Its calls take a quarter of the real time, for four times the load.
 */
export async function measure({ stage, load, quick }) {
  const callers = quick ? 800 : 8_000;
  const slots = quick ? 11 : 104;
  // One image in this many is 1024 x 1024 pixels; half of those are requested as base64.
  const realEvery = quick ? 1 : 16;
  const holdMs = quick ? 2_500 : REAL_MS / 4;
  const provider = await stage.startLedgerUpstream({ HOLD_MS: String(holdMs), REAL_EVERY: String(realEvery) });
  const upstream = { OPENAI_API_KEY: 'sk-bench', OPENAI_BASE_URL: `http://127.0.0.1:${provider.port}/v1` };
  const apis = [];
  for (let n = 0; n < 2; n++) {
    apis.push(await stage.startApi({ ...upstream, SYNC_WAIT_MS: String(SYNC_WAIT_MS) }, { probed: true }));
  }
  const workers = [];
  for (let n = 0; n < WORKERS; n++) {
    const settings = { ...upstream, WORKER_CONCURRENCY: String(slots) };
    workers.push(await stage.startWorker({ instant: false, settings, probed: true }));
  }
  const keys = await Promise.all(Array.from({ length: 8 }, (_, n) => stage.newKey(`many ${n}`)));
  const processes = { 'API 1': apis[0], 'API 2': apis[1] };
  workers.forEach((worker, n) => (processes[`worker ${n + 1}`] = worker));
  const pids = Object.fromEntries(Object.entries(processes).map(([name, { pid }]) => [name, pid]));
  const watched = { ...pids, Postgres: stage.servicePids.postgres, Redis: stage.servicePids.redis };
  const services = new Services(stage);

  const idle = memories(watched);
  const empty = await services.read();
  const sentAt = performance.now();
  const calls = [];
  for (let sent = 0; sent < callers; sent += AT_ONCE) {
    apis.forEach((api, n) => {
      const total = AT_ONCE / apis.length;
      const requests = Array.from({ length: total }, (_, place) =>
        requestOf(sent + n * total + place, realEvery, keys),
      );
      calls.push(
        load.count({ port: api.port, requests, connections: total, total, status: 200, timeoutMs: TIMEOUT_MS }),
      );
    });
    await accepted(stage.pool, sent + AT_ONCE);
  }
  const isFull = async () => (await provider.ledger()).inFlight === slots * WORKERS;
  if (!(await waitUntil(isFull, { timeoutMs: TIMEOUT_MS / 4, everyMs: 250 }))) {
    throw new Error(`only ${(await provider.ledger()).inFlight} calls at the provider`);
  }
  const acceptedMs = performance.now() - sentAt;

  await loops(stage, processes);
  const before = await services.read();
  const quietMs = quick ? 3_000 : 10_000;
  const { cpu: heldCpu } = await cpuDuring(watched, () => delay(quietMs).then(() => ({})));
  const full = await services.read();
  const holding = memories(watched);
  const sockets = Object.fromEntries(Object.entries(watched).map(([name, pid]) => [name, socketsOf(pid)]));
  const connections = await services.connections(pids);
  const heldLoops = await loops(stage, processes);

  const writtenOf = () => Object.fromEntries(Object.entries(watched).map(([name, pid]) => [name, writtenBy(pid)]));
  const writtenHeld = writtenOf();
  const begunAt = performance.now();
  const { cpu, answers } = await cpuDuring(watched, async () => {
    await provider.begin();
    return { answers: await Promise.all(calls) };
  });
  const drainedMs = performance.now() - begunAt;
  const drainedLoops = await loops(stage, processes);
  const written = writtenOf();
  await stage.untilIdle(stage.pool, 'tasks');
  const after = await services.read();
  const peaks = Object.fromEntries(
    Object.entries(watched).map(([name, pid]) => [name, name === 'Postgres' ? memoryOfAll(pid) : memoryOf(pid)?.peak]),
  );
  const ledger = await provider.ledger();
  const whole = `status = 'completed' AND provider_starts = 1 AND prompt LIKE '%n-%'`;
  const { rows } = await stage.pool.query(`SELECT count(*)::int AS n FROM tasks WHERE ${whole}`);
  services.close();
  await stage.stop(...apis, ...workers, provider);

  const answered = answers.reduce((sum, { calls: count }) => sum + count, 0);
  const wrong = answers.map((answer) => answer.wrong).filter((outcomes) => Object.keys(outcomes).length > 0);
  const lost = callers - rows[0].n;
  const sent = answers.reduce((sum, { bytes }) => sum + bytes, 0);
  const per = (value, of = callers) => value / of;
  const ports = { redis: Number(new URL(stage.redis.url).port), provider: provider.port };
  const rate = (answered / drainedMs) * 60_000;
  const workerNames = workers.map((_, n) => `worker ${n + 1}`);
  const shown = { 'API 1': ['API 1'], 'API 2': ['API 2'], 'worker, the most of 8': workerNames };
  for (const name of ['Postgres', 'Redis']) shown[name] = [name];
  const mostOf = (names, figure) => Math.max(...names.map(figure));
  const ours = (names) => names.every((name) => pids[name] !== undefined);
  // Each Postgres connection is a separate process.
  const single = (names) => names[0] !== 'Postgres';
  const memoryIn = (memory) => (names) => megabytes(mostOf(names, (name) => memory[name]));
  const shownIf = (applies, figure) => (names) => (applies(names) ? figure(names) : '');
  const portsTo = (port) => shownIf(ours, (names) => mostOf(names, (name) => sockets[name].byPort.get(port) ?? 0));
  const p99In = (lag) => shownIf(ours, (names) => milliseconds(mostOf(names, (name) => lag[name].p99)));
  const figures = {
    idle: memoryIn(idle),
    holding: memoryIn(holding),
    peak: memoryIn(peaks),
    'open files': shownIf(single, (names) => mostOf(names, (name) => sockets[name].files)),
    sockets: shownIf(single, (names) => mostOf(names, (name) => sockets[name].sockets)),
    'connections to Postgres': shownIf(ours, (names) => mostOf(names, (name) => connections[name])),
    'connections to Redis': portsTo(ports.redis),
    'connections to the provider': portsTo(ports.provider),
    'written while answering': shownIf(single, (names) =>
      megabytes(mostOf(names, (name) => written[name] - writtenHeld[name])),
    ),
    'cpu while holding': (names) => `${((mostOf(names, (name) => heldCpu[name]) / quietMs) * 100).toFixed(1)} %`,
    'event loop p99 while holding': p99In(heldLoops),
    'event loop p99 while answering': p99In(drainedLoops),
  };
  const cpuOf = (names) => milliseconds(per(names.reduce((sum, name) => sum + cpu[name], 0)));
  const apiPeak = Math.max(peaks['API 1'], peaks['API 2']);
  const apiLoop = Math.max(drainedLoops['API 1'].p99, drainedLoops['API 2'].p99);
  return {
    columns: ['', ...Object.keys(shown)],
    rows: Object.entries(figures).map(([title, figure]) => [title, ...Object.values(shown).map(figure)]),
    facts: [
      `all accepted, and ${slots * WORKERS} calls at the provider: after ${seconds(acceptedMs)}`,
      `a call at the provider: ${seconds(holdMs)} instead of ${seconds(REAL_MS)}; all answered in ${seconds(drainedMs)}: ${Math.round(rate).toLocaleString('en')} images a minute`,
      `cpu time an image, while all are answered: ${cpuOf(['API 1', 'API 2'])} of the APIs, ${cpuOf(workerNames)} of the workers, ${cpuOf(['Postgres'])} of Postgres, ${cpuOf(['Redis'])} of Redis`,
      `memory of an API for each caller it holds: ${((holding['API 1'] - idle['API 1']) / (callers / 2) / 1000).toFixed(1)} kB`,
      `Redis: ${per(full.redisBytes - empty.redisBytes).toFixed(0)} B a task, ${full.redisClients} clients; ${(((full.commands - before.commands) / quietMs) * 1000).toFixed(0)} commands/s while all are held; ${per(after.commands - empty.commands).toFixed(0)} commands and ${per((after.redisOut - empty.redisOut) / 1000).toFixed(1)} kB sent, an image`,
      `Postgres: ${full.connections} connections; ${(((full.commits - before.commits) / quietMs) * 1000).toFixed(0)} commits/s while all are held; ${per(after.commits - empty.commits).toFixed(1)} commits, ${per(after.syncs - empty.syncs).toFixed(1)} flushes and ${per((after.wal - empty.wal) / 1000).toFixed(1)} kB of log, an image; ${per((after.size - empty.size) / 1000).toFixed(1)} kB of tables, an image`,
      `from the provider: ${per(ledger.bytesOut / 1000).toFixed(0)} kB an image; to the callers: ${per(sent / 1000).toFixed(0)} kB; a real image is ${(ledger.imageBytes / 1e6).toFixed(2)} MB`,
    ],
    goals: [
      {
        text: `all ${callers} callers answered, none lost, none bought twice`,
        value: `${callers} calls, ${callers - answered} failed, ${lost} lost, ${ledger.twice} bought twice`,
        met: answered === callers && lost === 0 && ledger.twice === 0,
      },
      {
        text: `${slots * WORKERS} calls at the provider at once`,
        value: String(ledger.mostInFlight),
        met: ledger.mostInFlight === slots * WORKERS,
      },
      {
        text: `an API holds ${callers / 2} callers in at most ${GOAL_API_MB} MB`,
        value: megabytes(apiPeak),
        met: apiPeak <= GOAL_API_MB * 1e6,
      },
      {
        text: `event loop of an API delayed by at most ${GOAL_LOOP_MS} ms at the p99 while it answers`,
        value: milliseconds(apiLoop),
        met: apiLoop <= GOAL_LOOP_MS,
      },
    ],
    raw: {
      idle,
      holding,
      peaks,
      heldCpu,
      cpu,
      heldLoops,
      drainedLoops,
      writtenHeld,
      written,
      connections,
      empty,
      before,
      full,
      after,
      ledger,
      wrong,
    },
  };
}

function requestOf(number, realEvery, keys) {
  const base64 = number % (2 * realEvery) === 0;
  const prompt = `A lighthouse at dawn, soft pink clouds over a quiet sea, n-${number}.`;
  return generation(keys[number % keys.length], { prompt, response_format: base64 ? 'b64_json' : 'url' });
}

function memories(pids) {
  const memory = ([name, pid]) => [name, name === 'Postgres' ? memoryOfAll(pid) : memoryOf(pid)?.now];
  return Object.fromEntries(Object.entries(pids).map(memory));
}

/** Event loop delay of each process since the last call. */
async function loops(stage, processes) {
  const seen = {};
  for (const [name, process] of Object.entries(processes)) seen[name] = await stage.probe(process);
  return seen;
}

/** Waits until this many callers have a task. */
async function accepted(pool, count) {
  const tasks = async () =>
    (await pool.query(`SELECT count(*)::int AS count FROM tasks WHERE finished_at IS NULL`)).rows[0].count;
  if (await waitUntil(async () => (await tasks()) >= count, { timeoutMs: 120_000, everyMs: 20 })) return;
  throw new Error(`only ${await tasks()} of ${count} callers became tasks`);
}

/** Statistics of Postgres and Redis. */
class Services {
  constructor(stage) {
    this.pool = stage.pool;
    this.redis = new Redis(stage.redis.url);
    this.redis.on('error', () => undefined);
  }

  async read() {
    const { rows } = await this.pool.query(
      `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float AS wal, pg_database_size(current_database())::float AS size,
         (SELECT xact_commit::float FROM pg_stat_database WHERE datname = current_database()) AS commits,
         (SELECT sum(fsyncs)::float FROM pg_stat_io WHERE object = 'wal') AS syncs,
         (SELECT count(*)::int FROM pg_stat_activity WHERE application_name LIKE 'darkroom %') AS connections`,
    );
    const info = await this.redis.info();
    const field = (name) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);
    return {
      ...rows[0],
      redisBytes: field('used_memory'),
      redisClients: field('connected_clients'),
      redisOut: field('total_net_output_bytes'),
      commands: field('total_commands_processed'),
    };
  }

  /** Connections of each process, by its application name. */
  async connections(pids) {
    const { rows } = await this.pool.query(
      `SELECT application_name AS name, count(*)::int AS count FROM pg_stat_activity WHERE application_name LIKE 'darkroom %' GROUP BY 1`,
    );
    const of = (pid) => rows.filter(({ name }) => name.includes(` ${pid}@`)).reduce((sum, { count }) => sum + count, 0);
    return Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, of(pid)]));
  }

  close() {
    this.redis.disconnect();
  }
}

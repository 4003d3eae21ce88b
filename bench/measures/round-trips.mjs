import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { generation } from '../requests.mjs';
import { startCarefulFloor, startDarkroom, startFloor } from '../sides.mjs';

/** An idle Postgres connection reports its statistics within 10 s. */
const SETTLE_MS = 11_000;
const IDLE_MS = 10_000;
/** A call of a provider that charges takes HOLD_MS, and up to SPREAD_MS more. */
const HOLD_MS = 2_000;
const SPREAD_MS = 4_000;
/** The calls of all callers are with the provider at once, or as many as a worker makes by default. */
const ALL = 64;
const DEFAULT = 10;
const PAID = 'Darkroom, provider charges and takes 2 to 6 s';
const PAID_QUEUED = `the same, ${DEFAULT} calls at once`;
const INSTANT = 'Darkroom, free and instant provider';

export const title = 'Round trips of a sync call';

/**
 * The requests of a sync call to Postgres and Redis, counted by the servers. Unlike times, counts are the same on every
 * machine that is not busy: on one that is, more requests come at the same moment, and share a statement or a write. The
 * background requests of idle processes are measured first and subtracted.
 */
export async function measure({ stage, load, quick }) {
  const redis = new Redis(stage.redis.url);
  const floorPool = stage.openPool(stage.floorUrl);
  const rows = [];
  const raw = {};
  const figures = new Map();
  const many = quick ? 300 : 1_000;
  const [alone, together, queued] = quick ? [10, 192, 64] : [25, 640, 320];
  const both = [1, ALL].map((callers) => [callers, many]);
  for (const { name, start, pool, runs } of [
    {
      name: PAID,
      start: () => startPaid(stage, ALL),
      pool: stage.pool,
      runs: [
        [1, alone],
        [ALL, together],
      ],
    },
    { name: PAID_QUEUED, start: () => startPaid(stage, DEFAULT), pool: stage.pool, runs: [[ALL, queued]] },
    { name: INSTANT, start: () => startDarkroom(stage), pool: stage.pool, runs: both },
    { name: 'floor', start: () => startFloor(stage), pool: floorPool, runs: both },
    { name: 'careful floor', start: () => startCarefulFloor(stage), pool: floorPool, runs: both },
  ]) {
    const side = await start();
    const requests = [generation(stage.apiKey, { response_format: 'url' })];
    const run = (connections, total) =>
      load.run({ port: side.port, requests, connections, total, status: 200, timeoutMs: 600_000 });
    await run(8, name === INSTANT || pool === floorPool ? 100 : 16);
    let before = await settledCounts(pool, redis);
    const counted = async (work) => {
      await work();
      const after = await settledCounts(pool, redis);
      const since = differences(before, after);
      before = after;
      return since;
    };
    const idle = await counted(() => delay(IDLE_MS));
    for (const [callers, total] of runs) {
      const busy = await counted(() => run(callers, total));
      const perCall = perCallOf(busy, idle, total);
      figures.set(`${name} ${callers}`, perCall);
      rows.push([callers, name, ...COLUMNS.map(([, figure, digits]) => perCall[figure].toFixed(digits))]);
      raw[`${name} ${callers}`] = { busy, idle, perCall };
    }
    await stage.stop(...side.processes);
  }
  redis.disconnect();
  return { columns: ['callers', 'side', ...COLUMNS.map(([title]) => title)], rows, goals: goalsOf(figures), raw };
}

/**
 * Darkroom with its adapter of a provider that charges. Its images have 1024 x 1024 pixels in one color: a machine that
 * is busy with them would group more statements than one with cores to spare.
 */
async function startPaid(stage, callsAtOnce) {
  const provider = await stage.startLedgerUpstream({
    HOLD_MS: String(HOLD_MS),
    SPREAD_MS: String(SPREAD_MS),
    REAL_EVERY: '1',
    PLAIN: '1',
  });
  await provider.begin();
  const upstream = { OPENAI_API_KEY: 'sk-bench', OPENAI_BASE_URL: `http://127.0.0.1:${provider.port}/v1` };
  const api = await stage.startApi(upstream);
  const settings = { ...upstream, WORKER_CONCURRENCY: String(callsAtOnce) };
  const worker = await stage.startWorker({ instant: false, settings });
  return { port: api.port, processes: [api, worker, provider] };
}

const COLUMNS = [
  ['transactions', 'transactions', 1],
  ['WAL bytes', 'walBytes', 0],
  ['Redis reads', 'redisReads', 1],
  ['Redis commands', 'redisCommands', 1],
  ['Redis bytes in', 'redisBytesIn', 0],
];

const TRANSACTIONS = 'transactions of Postgres per sync call';
const READS = 'reads of Redis per sync call';
const SLOW = 'to a provider that charges and takes 2 to 6 s';

/** Goals: at most so many. */
const GOALS = [
  [PAID, ALL, 'transactions', `${TRANSACTIONS} ${SLOW}, at ${ALL} callers`, 4],
  [PAID, ALL, 'redisReads', `${READS} ${SLOW}, at ${ALL} callers`, 6],
  [PAID_QUEUED, ALL, 'transactions', `${TRANSACTIONS} ${SLOW}, ${DEFAULT} calls at once, at ${ALL} callers`, 4],
  [PAID_QUEUED, ALL, 'redisReads', `${READS} ${SLOW}, ${DEFAULT} calls at once, at ${ALL} callers`, 6],
  [INSTANT, 1, 'transactions', `${TRANSACTIONS} at 1 callers`, 4],
  [INSTANT, ALL, 'transactions', `${TRANSACTIONS} at ${ALL} callers`, 1.5],
  [INSTANT, 1, 'redisReads', `${READS} at 1 callers`, 9],
  [INSTANT, ALL, 'redisReads', `${READS} at ${ALL} callers`, 3],
];

function goalsOf(figures) {
  return GOALS.map(([side, callers, figure, what, limit]) => {
    const value = figures.get(`${side} ${callers}`)[figure];
    return { text: `${what}, at most ${limit}`, value: value.toFixed(1), met: value <= limit };
  });
}

async function settledCounts(pool, redis) {
  await delay(SETTLE_MS);
  const { rows } = await pool.query(`
    SELECT d.xact_commit + d.xact_rollback AS transactions, w.wal_bytes AS "walBytes"
    FROM pg_stat_database d, pg_stat_wal w WHERE d.datname = current_database()`);
  const info = await redis.info('everything');
  const field = (name) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)[1]);
  return {
    seconds: performance.now() / 1_000,
    ...Object.fromEntries(Object.entries(rows[0]).map(([name, value]) => [name, Number(value)])),
    redisReads: field('total_reads_processed'),
    redisCommands: field('total_commands_processed'),
    redisBytesIn: field('total_net_input_bytes'),
    // The commands, for the results file.
    ...Object.fromEntries([...info.matchAll(/^cmdstat_(\S+):calls=(\d+)/gm)].map(([, name, calls]) => [name, +calls])),
  };
}

function differences(before, after) {
  return Object.fromEntries(Object.keys(after).map((name) => [name, after[name] - (before[name] ?? 0)]));
}

function perCallOf(busy, idle, calls) {
  const own = Object.keys(busy).map((name) => [
    name,
    (busy[name] - ((idle[name] ?? 0) / idle.seconds) * busy.seconds) / calls,
  ]);
  return Object.fromEntries(own);
}

import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { generation } from '../requests.mjs';
import { startCarefulFloor, startDarkroom, startFloor } from '../sides.mjs';

const CALLERS = [1, 64];
/** An idle Postgres connection reports its statistics within 10 s. */
const SETTLE_MS = 11_000;
const IDLE_MS = 10_000;

export const title = 'Round trips of a sync call';

/**
 * The requests of a sync call to Postgres and Redis, counted by the servers. Unlike times, counts are the same on every
 * machine. The background requests of idle processes are measured first and subtracted.
 */
export async function measure({ stage, load, quick }) {
  const redis = new Redis(stage.redis.url);
  const floorPool = stage.openPool(stage.floorUrl);
  const rows = [];
  const raw = {};
  const figures = new Map();
  for (const [start, pool] of [
    [startFloor, floorPool],
    [startDarkroom, stage.pool],
    [startCarefulFloor, floorPool],
  ]) {
    const side = await start(stage);
    const requests = [generation(stage.apiKey, { response_format: 'url' })];
    const run = (connections, total) =>
      load.run({ port: side.port, requests, connections, total, status: 200, timeoutMs: 60_000 });
    const calls = quick ? 300 : 1_000;
    await run(8, 100);
    let before = await settledCounts(pool, redis);
    const counted = async (work) => {
      await work();
      const after = await settledCounts(pool, redis);
      const since = differences(before, after);
      before = after;
      return since;
    };
    const idle = await counted(() => delay(IDLE_MS));
    for (const callers of CALLERS) {
      const busy = await counted(() => run(callers, calls));
      const perCall = perCallOf(busy, idle, calls);
      figures.set(`${side.name} ${callers}`, perCall);
      rows.push([callers, side.name, ...COLUMNS.map(([, figure, digits]) => perCall[figure].toFixed(digits))]);
      raw[`${side.name} ${callers}`] = { busy, idle, perCall };
    }
    await stage.stop(...side.processes);
  }
  redis.disconnect();
  return { columns: ['callers', 'side', ...COLUMNS.map(([title]) => title)], rows, goals: goalsOf(figures), raw };
}

const COLUMNS = [
  ['transactions', 'transactions', 1],
  ['WAL bytes', 'walBytes', 0],
  ['Redis reads', 'redisReads', 1],
  ['Redis commands', 'redisCommands', 1],
  ['Redis bytes in', 'redisBytesIn', 0],
];

/** Goals by number of callers: Postgres transactions, and Redis' reads from its sockets. */
const GOALS = [
  ['transactions', 'transactions of Postgres', [4, 1.5]],
  ['redisReads', 'reads of Redis', [9, 3]],
];

function goalsOf(figures) {
  return GOALS.flatMap(([figure, what, limits]) =>
    CALLERS.map((callers, index) => {
      const value = figures.get(`Darkroom ${callers}`)[figure];
      return {
        text: `${what} per sync call at ${callers} callers, at most ${limits[index]}`,
        value: value.toFixed(1),
        met: value <= limits[index],
      };
    }),
  );
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

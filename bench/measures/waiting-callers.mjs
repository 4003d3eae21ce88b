import { waitUntil } from '#embedded/wait-until.js';
import { megabytes, milliseconds } from '../figures.mjs';
import { generation } from '../requests.mjs';
import { memoryOf } from '../usage.mjs';
import { setTimeout as delay } from 'node:timers/promises';

export const title = 'Memory of an API process that holds waiting callers';

const CALLERS = [2_000, 8_000];
const GOAL_MB = 400;
const GOAL_LOOP_MS = 150;

/** Callers wait on one API process while no worker runs; then a worker starts and all get their response. */
export async function measure({ stage, load, quick }) {
  const sides = [
    {
      name: 'floor',
      url: stage.floorUrl,
      startApi: () => stage.startFloorServer('api.mjs'),
      startWorker: () => stage.startFloorWorker('worker.mjs', { WORKER_CONCURRENCY: '10' }),
    },
    {
      name: 'Darkroom',
      url: stage.postgres.url,
      // The load generator opens all connections before it sends anything.
      startApi: () => stage.startApi({ UNAUTHENTICATED_CONNECTIONS: '10000' }, { probed: true }),
      startWorker: () => stage.startWorker(),
    },
  ];
  const results = [];
  for (const callers of quick ? [200] : CALLERS)
    for (const side of sides) results.push(await hold(side, callers, { stage, load, quick }));
  return {
    columns: ['side', 'callers', 'idle', 'holding', 'per caller', 'peak', 'after', 'answered', 'event loop p99', 'max'],
    rows: results.map(({ name, callers, idle, holding, peak, after, answered, loop }) => [
      name,
      callers,
      megabytes(idle),
      megabytes(holding),
      `${((holding - idle) / callers / 1000).toFixed(1)} kB`,
      megabytes(peak),
      megabytes(after),
      answered,
      milliseconds(loop?.p99),
      milliseconds(loop?.max),
    ]),
    goals: results.filter(({ loop }) => loop !== undefined).flatMap(goalsOf),
    raw: results,
  };
}

function goalsOf({ callers, peak, answered, loop }) {
  return [
    { text: `all ${callers} callers answered`, value: String(answered), met: answered === callers },
    { text: `${callers} callers held in at most ${GOAL_MB} MB`, value: megabytes(peak), met: peak <= GOAL_MB * 1e6 },
    {
      text: `event loop delay at most ${GOAL_LOOP_MS} ms at the p99 while ${callers} are answered`,
      value: milliseconds(loop.p99),
      met: loop.p99 <= GOAL_LOOP_MS,
    },
  ];
}

async function hold(side, callers, { stage, load, quick }) {
  const api = await side.startApi();
  const pool = stage.openPool(side.url);
  const idle = memoryOf(api.pid)?.now;
  const requests = [generation(stage.apiKey, { response_format: 'url' })];
  const order = { port: api.port, requests, connections: callers, total: callers, status: 200, timeoutMs: 90_000 };
  const calls = load.run(order);
  calls.catch(() => undefined);
  const held = await waitUntil(async () => (await pending(pool)) === callers, { timeoutMs: 30_000, everyMs: 100 });
  if (!held) throw new Error(`only ${await pending(pool)} of ${callers} callers became tasks`);
  // Long enough for several of the process's shared checks of all waiting tasks.
  await delay(quick ? 2_000 : 8_000);
  const { now: holding } = memoryOf(api.pid) ?? {};
  const probed = side.name === 'Darkroom';
  if (probed) await stage.probe(api);
  const worker = await side.startWorker();
  const { calls: answered } = await calls;
  const loop = probed ? await stage.probe(api) : undefined;
  const { now: after, peak } = memoryOf(api.pid) ?? {};
  await stage.stop(api, worker);
  return { name: side.name, callers, idle, holding, peak, after, answered, loop };
}

async function pending(pool) {
  const { rows } = await pool.query(`SELECT count(*)::int AS count FROM tasks WHERE finished_at IS NULL`);
  return rows[0].count;
}

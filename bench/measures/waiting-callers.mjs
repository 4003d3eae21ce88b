import { waitUntil } from '#embedded/wait-until.js';
import { megabytes } from '../figures.mjs';
import { generation } from '../requests.mjs';
import { memoryOf } from '../usage.mjs';
import { setTimeout as delay } from 'node:timers/promises';

export const title = 'Memory of an API process that holds waiting callers';

/** Callers who wait on one API process while no worker runs; then a worker starts and all are answered. */
export async function measure({ stage, load, quick }) {
  const callers = quick ? 200 : 2_000;
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
      startApi: () => stage.startApi(),
      startWorker: () => stage.startWorker(),
    },
  ];
  const results = [];
  for (const side of sides) results.push(await hold(side, callers, { stage, load, quick }));
  return {
    columns: ['side', 'callers', 'idle', 'holding', 'per caller', 'peak', 'after', 'answered'],
    rows: results.map(({ name, idle, holding, peak, after, answered }) => [
      name,
      callers,
      megabytes(idle),
      megabytes(holding),
      `${((holding - idle) / callers / 1000).toFixed(1)} kB`,
      megabytes(peak),
      megabytes(after),
      answered,
    ]),
    goals: [],
    raw: results,
  };
}

async function hold(side, callers, { stage, load, quick }) {
  const api = await side.startApi();
  const pool = stage.openPool(side.url);
  const idle = memoryOf(api.pid)?.now;
  const requests = [generation(stage.apiKey)];
  const order = { port: api.port, requests, connections: callers, total: callers, status: 200, timeoutMs: 90_000 };
  const calls = load.run(order);
  calls.catch(() => undefined);
  const held = await waitUntil(async () => (await pending(pool)) === callers, { timeoutMs: 30_000, everyMs: 100 });
  if (!held) throw new Error(`only ${await pending(pool)} of ${callers} callers became tasks`);
  // Long enough for several of the looks that the process takes at all its waiting tasks together.
  await delay(quick ? 2_000 : 8_000);
  const { now: holding } = memoryOf(api.pid) ?? {};
  const worker = await side.startWorker();
  const { calls: answered } = await calls;
  const { now: after, peak } = memoryOf(api.pid) ?? {};
  await stage.stop(api, worker);
  return { name: side.name, idle, holding, peak, after, answered };
}

async function pending(pool) {
  const { rows } = await pool.query(`SELECT count(*)::int AS count FROM tasks WHERE status = 'pending'`);
  return rows[0].count;
}

import { waitUntil } from '#embedded/wait-until.js';
import { inTurns, median, milliseconds, percentile, seconds } from '../figures.mjs';
import { generation } from '../requests.mjs';

/** The p95 of a small caller's starts, in service times. */
const GOAL = 2;
const SLOTS = 10;
const LATENCY_MS = 250;
const SMALL = 10;
const CALLERS = 64;

export const title = 'A caller with ten tasks behind another caller’s backlog';

/**
 * One caller queues a backlog; then another one sends ten tasks. Measures how long those wait for their start, in
 * service times: in Darkroom, and in the floor, which runs jobs in order of arrival. All images take the same time.
 */
export async function measure({ stage, load, quick }) {
  const backlog = quick ? 400 : 2_000;
  const keys = [stage.apiKey, await stage.newKey('small caller')];
  const sides = [
    {
      name: 'floor',
      startApi: () => stage.startFloorServer('api.mjs'),
      startWorker: (settings) => stage.startFloorWorker('worker.mjs', settings),
      pool: stage.openPool(stage.floorUrl),
      // The floor records no start, so its service time is the provider's latency.
      times: `SELECT extract(epoch FROM finished_at - created_at)::float8 * 1000 - ${LATENCY_MS} AS wait, ${LATENCY_MS}::float8 AS service`,
    },
    {
      name: 'Darkroom',
      startApi: () => stage.startApi(),
      startWorker: (settings) => stage.startWorker({ settings }),
      pool: stage.pool,
      times: `SELECT extract(epoch FROM started_at - created_at)::float8 * 1000 AS wait,
        extract(epoch FROM finished_at - started_at)::float8 * 1000 AS service`,
    },
  ];
  const results = await inTurns(sides, quick ? 1 : 2, (side) => run(side, backlog, { stage, load, keys }));
  const rows = sides.map((side) => figuresOf(side, results.get(side)));
  const ours = rows.at(-1);
  return {
    columns: ['side', 'backlog', 'slots', 'service time', 'p50 start', 'p95 start', 'p95 start / service time'],
    rows: rows.map(({ name, service, p50, p95 }) => [
      name,
      backlog,
      SLOTS,
      milliseconds(service),
      seconds(p50),
      seconds(p95),
      (p95 / service).toFixed(2),
    ]),
    goals: [
      {
        text: `p95 start of the small caller within ${GOAL} service times`,
        value: (ours.p95 / ours.service).toFixed(2),
        met: ours.p95 <= GOAL * ours.service,
      },
    ],
    raw: Object.fromEntries(sides.map((side) => [side.name, results.get(side)])),
  };
}

async function run(side, backlog, { stage, load, keys }) {
  const api = await side.startApi();
  const worker = await side.startWorker({ WORKER_CONCURRENCY: String(SLOTS), LATENCY_MS: String(LATENCY_MS) });
  const submit = (key, total, connections) =>
    load.run({
      port: api.port,
      requests: [generation(key, { asynchronous: true })],
      connections,
      total,
      status: 202,
      timeoutMs: 60_000,
    });
  await submit(keys[0], backlog, CALLERS);
  const { taskIds } = await submit(keys[1], SMALL, 1);
  const finished = async () => {
    const text = `${side.times} FROM tasks WHERE id = ANY($1) AND status = 'completed'`;
    return (await side.pool.query(text, [taskIds])).rows;
  };
  const done = await waitUntil(async () => (await finished()).length === SMALL, { timeoutMs: 180_000, everyMs: 50 });
  if (!done) throw new Error('the small caller was not served');
  const tasks = await finished();
  await stage.stop(api, worker);
  await stage.clearTasks();
  return tasks;
}

function figuresOf({ name }, rounds) {
  const tasks = rounds.flat();
  const waits = tasks.map(({ wait }) => wait).sort((a, b) => a - b);
  return {
    name,
    service: median(tasks.map(({ service }) => service)),
    p50: percentile(waits, 0.5),
    p95: percentile(waits, 0.95),
  };
}

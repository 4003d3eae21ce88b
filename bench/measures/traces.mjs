import { createServer } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { inTurns, medianOf, milliseconds, rate } from '../figures.mjs';
import { generation } from '../requests.mjs';
import { cpuDuring, cpuPerCall } from '../usage.mjs';

/** How much CPU time traces may add to API and worker. */
const GOAL = 0.03;
const TASKS = 1_000;
/** With an image of real size, which costs ten times as much. */
const IMAGE_TASKS = 100;
const CALLERS = 32;
const SETTINGS = { WORKER_CONCURRENCY: '10', LEASE_MS: '2000', SWEEP_INTERVAL_MS: '500' };

export const title = 'Traces: what they cost, and whether they hold together';

/**
 * 1,000 tasks, in turns by processes with and without traces, on the same services. The provider takes no time and
 * returns 64 x 64 pixels, so nothing hides the overhead; then the same with images of 1024 x 1024, as real tasks have
 * them. Then 1,000 more with traces: a fifth is parked once, and the worker is killed half-way.
 */
export async function measure({ stage, load, quick }) {
  const receiver = await startReceiver();
  const sides = [await startSide(stage, 'without', SETTINGS), await startSide(stage, 'with', SETTINGS, receiver.url)];
  const costs = await costOf({ stage, load, sides, tasks: TASKS, turns: quick ? 3 : 9 });
  await stage.stop(...sides[0].processes);
  const images = await imageCosts({ stage, load, quick, endpoint: receiver.url });
  const whole = await throughTrouble(stage, load, sides[1], receiver);
  await receiver.close();
  return {
    columns: ['side', 'image', 'tasks/s', 'API cpu', 'worker cpu', 'both'],
    rows: [...costs.map((cost) => rowOf(cost, '64 x 64')), ...images.map((cost) => rowOf(cost, '1024 x 1024'))],
    goals: [
      ...[
        ['64 x 64', costs],
        ['1024 x 1024', images],
      ].map(([size, [without, traced]]) => {
        const added = traced.both - without.both;
        return {
          text: `processor time that traces add to a task with an image of ${size}, at most 3.0 %`,
          value: `${percents(added / without.both)} (${milliseconds(added)})`,
          met: added / without.both <= GOAL,
        };
      }),
      {
        text: `of ${TASKS} tasks with parking and a killed worker, each is one trace, and each attempt is linked to the one before`,
        value: `${whole.single} traces, ${whole.linked} linked (${whole.attempts} attempts, ${whole.links} links; the killed worker had not sent ${whole.unsent})`,
        met: whole.single === TASKS && whole.linked === TASKS,
      },
    ],
    raw: { costs, images, whole },
  };
}

async function imageCosts({ stage, load, quick, endpoint }) {
  const upstream = await stage.startLedgerUpstream({ HOLD_MS: '0', REAL_EVERY: '1' });
  await upstream.begin();
  const own = {
    OPENAI_API_KEY: 'sk-bench',
    OPENAI_BASE_URL: `http://127.0.0.1:${upstream.port}/v1`,
    WORKER_CONCURRENCY: '10',
  };
  const sides = [await startSide(stage, 'images-without', own), await startSide(stage, 'images-with', own, endpoint)];
  const order = { sides, tasks: IMAGE_TASKS, fields: { prompt: 'n-1' }, turns: quick ? 2 : 15 };
  const costs = await costOf({ stage, load, ...order });
  await stage.stop(...sides.flatMap(({ processes }) => processes), upstream);
  return costs.map((cost) => ({ ...cost, name: cost.name.replace('images-', '') }));
}

/** CPU time per task in API and worker, by side, in ms. */
async function costOf({ stage, load, sides, tasks, turns, fields = {} }) {
  const run = (side) =>
    cpuDuring(side.pids, async () => {
      const since = performance.now();
      await submit(stage, load, side.port, [fields], tasks);
      return { calls: tasks, jobsPerSecond: (tasks / (performance.now() - since)) * 1_000 };
    });
  // Warm-up, until the code is fully optimized.
  await inTurns(sides, 3, run);
  const results = await inTurns(sides, turns, run);
  return sides.map((side) => {
    const [api, worker] = ['api', 'worker'].map((name) => cpuPerCall(results.get(side), name));
    return {
      name: side.name,
      jobsPerSecond: medianOf(results.get(side), 'jobsPerSecond'),
      api,
      worker,
      both: api + worker,
    };
  });
}

function rowOf({ name, jobsPerSecond, api, worker, both }, image) {
  return [name, image, rate(jobsPerSecond), ...[api, worker, both].map(milliseconds)];
}

const percents = (share) => `${(share * 100).toFixed(1)} %`;

/** Starts an API and a worker with their own Redis prefix, so that the sides don't process each other's tasks. */
async function startSide(stage, name, own, endpoint) {
  const traced = endpoint === undefined ? {} : { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint };
  const settings = { ...own, ...traced, REDIS_PREFIX: `{${name}}` };
  // With its own provider, the side uses the real worker.
  const instant = own.OPENAI_BASE_URL === undefined;
  const api = await stage.startApi(settings);
  const worker = await stage.startWorker({ settings, instant });
  return { name, settings, port: api.port, pids: { api: api.pid, worker: worker.pid }, processes: [api, worker] };
}

async function submit(stage, load, port, kinds, total) {
  const requests = kinds.map((fields) => generation(stage.apiKey, { asynchronous: true, ...fields }));
  await load.run({ port, requests, connections: CALLERS, total, status: 202, timeoutMs: 60_000 });
  await stage.untilIdle(stage.pool, 'tasks');
}

async function throughTrouble(stage, load, side, receiver) {
  const [api, worker] = side.processes;
  const { rows } = await stage.pool.query('SELECT now() AS since');
  const { since } = rows[0];
  const submitted = submit(stage, load, side.port, [{ prompt: '[[park]]' }, {}, {}, {}, {}], TASKS);
  const finished = 'SELECT count(*)::int AS count FROM tasks WHERE finished_at IS NOT NULL AND created_at >= $1';
  while ((await stage.pool.query(finished, [since])).rows[0].count < TASKS / 2);
  worker.child.kill('SIGKILL');
  const second = await stage.startWorker({ settings: side.settings });
  await submitted;
  await stage.stop(api, second, worker);
  const tasks = await stage.pool.query('SELECT id, trace_parent FROM tasks WHERE created_at >= $1', [since]);
  return judge(tasks.rows, receiver.spans());
}

/**
 * Every span of a task must be in the trace of its row, and every attempt but the first must be linked to one before in
 * that trace. A killed worker sends no more spans: neither of its open attempts, which only links name, nor of those
 * that had just ended.
 */
function judge(tasks, spans) {
  const byTask = new Map(tasks.map(({ id }) => [id, []]));
  for (const span of spans) byTask.get(span.task)?.push(span);
  const found = { single: 0, linked: 0, attempts: 0, links: 0, unsent: 0 };
  for (const { id, trace_parent: parent } of tasks) {
    const [, traceId] = parent.split('-');
    const own = byTask.get(id);
    const attempts = own.filter(({ name }) => name === 'task.attempt');
    if (own.length > 0 && own.every((span) => span.traceId === traceId)) found.single++;
    const isLinked = ({ attempt, links }) => attempt === 1 || (links.length === 1 && links[0] === traceId);
    if (attempts.every(isLinked)) found.linked++;
    if (attempts.length === 0) found.unsent++;
    found.attempts += attempts.length;
    found.links += attempts.flatMap(({ links }) => links).length;
  }
  return found;
}

/** Stores requests as text, and parses them at the end. */
async function startReceiver() {
  const bodies = [];
  const server = createServer((request, response) => {
    text(request).then((body) => {
      bodies.push(body);
      response.end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    spans: () =>
      bodies.flatMap((body) => JSON.parse(body).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(spansOf))),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function spansOf({ spans }) {
  return spans.map(({ name, traceId, attributes, links = [] }) => {
    const value = (key) => attributes.find((attribute) => attribute.key === key)?.value;
    const task = value('darkroom.task.id')?.stringValue;
    const attempt = Number(value('darkroom.attempt')?.intValue);
    return { name, traceId, links: links.map((link) => link.traceId), task, attempt };
  });
}

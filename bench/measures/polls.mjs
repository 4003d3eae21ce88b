import { inTurns, medianOf, milliseconds, percent, rate } from '../figures.mjs';
import { generation, poll } from '../requests.mjs';
import { startDarkroom, startFloor } from '../sides.mjs';
import { cpuDuring, cpuPerCall } from '../usage.mjs';

const GOAL = 0.6;
const GOAL_PER_SECOND = 5_000;
const GOAL_P99_MS = 50;
const CALLERS = 64;
const TASKS = 500;

export const title = 'Polls of a finished task';

/** GET /v1/tasks/{id} with many finished tasks, compared with bare Fastify and one read by primary key. */
export async function measure({ stage, load, quick }) {
  const darkroom = await startDarkroom(stage);
  const floorApi = await startFloor(stage);
  const floorPolls = await stage.startFloorServer('polls.mjs');
  const sides = [
    { name: 'floor', port: floorPolls.port, pids: { api: floorPolls.pid }, source: floorApi },
    { name: 'Darkroom', port: darkroom.port, pids: { api: darkroom.pids.api }, source: darkroom },
  ];
  for (const side of sides) {
    const requests = [generation(stage.apiKey)];
    const order = { port: side.source.port, requests, connections: 10, total: TASKS, status: 200, timeoutMs: 60_000 };
    const { taskIds } = await load.run(order);
    side.requests = taskIds.map((taskId) => poll(stage.apiKey, taskId));
  }
  const run = ({ port, requests, pids }, durationMs) =>
    cpuDuring({ ...pids, ...stage.servicePids }, () =>
      load.run({ port, requests, connections: CALLERS, durationMs, status: 200 }),
    );
  for (const side of sides) await run(side, 1_000);
  const results = await inTurns(sides, quick ? 1 : 5, (side) => run(side, quick ? 1_000 : 3_000));
  await stage.stop(...darkroom.processes, ...floorApi.processes, floorPolls);
  const [floor, ours] = sides.map((side) => medianOf(results.get(side), 'perSecond'));
  const p99 = medianOf(results.get(sides[1]), 'p99');
  const goal = { text: `polls/s at least ${percent(GOAL)} of the floor`, value: percent(ours / floor) };
  return {
    columns: ['side', 'polls', 'of floor', 'p50', 'p99', 'API cpu', 'Postgres cpu', 'load'],
    rows: sides.map((side) => row(side, results.get(side), floor)),
    goals: [
      { ...goal, met: ours / floor >= GOAL },
      { text: `at least ${rate(GOAL_PER_SECOND)} of one process`, value: rate(ours), met: ours >= GOAL_PER_SECOND },
      { text: `p99 at most ${GOAL_P99_MS} ms`, value: milliseconds(p99), met: p99 <= GOAL_P99_MS },
    ],
    raw: Object.fromEntries(sides.map((side) => [side.name, results.get(side)])),
  };
}

function row(side, rounds, floor) {
  const perSecond = medianOf(rounds, 'perSecond');
  return [
    side.name,
    rate(perSecond),
    percent(perSecond / floor),
    milliseconds(medianOf(rounds, 'p50')),
    milliseconds(medianOf(rounds, 'p99')),
    milliseconds(cpuPerCall(rounds, 'api')),
    milliseconds(cpuPerCall(rounds, 'postgres')),
    percent(medianOf(rounds, 'cpuShare')),
  ];
}

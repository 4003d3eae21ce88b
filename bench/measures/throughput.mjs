import { inTurns, medianOf, milliseconds, percent, rate } from '../figures.mjs';
import { generation } from '../requests.mjs';
import { startCarefulFloor, startDarkroom, startFloor } from '../sides.mjs';
import { cpuDuring, cpuPerCall } from '../usage.mjs';

/** Minimum share of the rate of the floor or the careful floor. */
const GOALS = [
  ['submits/s', 'submitsPerSecond', 'floor', 0.7],
  ['jobs/s', 'jobsPerSecond', 'floor', 0.6],
  ['jobs/s', 'jobsPerSecond', 'careful floor', 1],
];
const CALLERS = 64;

export const title = 'Async submits and finished jobs';

/**
 * A burst of submits at full speed, while the worker processes them: submits/s until the last is accepted, jobs/s from
 * the first submit until the last row is finished.
 */
export async function measure({ stage, load, quick }) {
  const sides = [await startFloor(stage), await startDarkroom(stage), await startCarefulFloor(stage)];
  const pools = { Darkroom: stage.pool, floor: stage.openPool(stage.floorUrl) };
  const requests = [generation(stage.apiKey, { asynchronous: true })];
  const run = (side, total) =>
    cpuDuring({ ...side.pids, ...stage.servicePids }, async () => {
      const since = performance.now();
      const order = { port: side.port, requests, connections: CALLERS, total, status: 202, timeoutMs: 60_000 };
      const submitted = await load.run(order);
      await stage.untilIdle(pools[side.name] ?? pools.floor, 'tasks');
      const jobsPerSecond = (total / (performance.now() - since)) * 1000;
      return { calls: total, submitsPerSecond: submitted.perSecond, jobsPerSecond, cpuShare: submitted.cpuShare };
    });
  for (const side of sides) await run(side, 500);
  const results = await inTurns(sides, quick ? 1 : 5, (side) => run(side, quick ? 1_000 : 3_000));
  await stage.stop(...sides.flatMap(({ processes }) => processes));
  const [floor] = sides.map((side) => results.get(side));
  const roundsOf = (name) => results.get(sides.find((side) => side.name === name));
  const goals = GOALS.map(([name, figure, beside, goal]) => {
    const share = medianOf(roundsOf('Darkroom'), figure) / medianOf(roundsOf(beside), figure);
    return { text: `${name} at least ${percent(goal)} of the ${beside}`, value: percent(share), met: share >= goal };
  });
  const columns = ['side', 'submits', 'of floor', 'jobs', 'of floor', 'API cpu', 'worker cpu', 'Postgres cpu', 'load'];
  return {
    columns,
    rows: sides.map((side) => row(side, results.get(side), floor)),
    goals,
    raw: Object.fromEntries(sides.map((side) => [side.name, results.get(side)])),
  };
}

function row(side, rounds, floor) {
  const cells = ['submitsPerSecond', 'jobsPerSecond'].flatMap((figure) => {
    const value = medianOf(rounds, figure);
    return [rate(value), percent(value / medianOf(floor, figure))];
  });
  const load = percent(medianOf(rounds, 'cpuShare'));
  return [
    side.name,
    ...cells,
    milliseconds(cpuPerCall(rounds, 'api')),
    milliseconds(cpuPerCall(rounds, 'worker')),
    milliseconds(cpuPerCall(rounds, 'postgres')),
    load,
  ];
}

import { inTurns, medianOf, milliseconds, percent, rate, times } from '../figures.mjs';
import { generation } from '../requests.mjs';
import { startCarefulFloor, startDarkroom, startFloor } from '../sides.mjs';
import { cpuDuring, cpuPerCall } from '../usage.mjs';

const GOAL = 1.5;
/** The same against the careful floor, by number of callers. */
const CAREFUL_GOALS = { 1: 1.3, 100: 1 };
const CALLERS = [1, 10, 100];

export const title = 'A sync call with an instant provider';

/** How long a caller waits for an image that takes no time to generate: the service's own overhead. */
export async function measure({ stage, load, quick }) {
  const sides = [await startFloor(stage), await startDarkroom(stage), await startCarefulFloor(stage)];
  const durationMs = quick ? 1_000 : 4_000;
  const requests = [generation(stage.apiKey, { response_format: 'url' })];
  const run = (side, connections, forMs) =>
    cpuDuring({ ...side.pids, ...stage.servicePids }, () =>
      load.run({ port: side.port, requests, connections, durationMs: forMs, status: 200 }),
    );
  for (const side of sides) await run(side, 10, durationMs / 2);
  const rows = [];
  const goals = [];
  const raw = {};
  for (const callers of CALLERS) {
    const results = await inTurns(sides, quick ? 1 : 3, (side) => run(side, callers, durationMs));
    const [floor, ours, careful] = sides.map((side) => medianOf(results.get(side), 'p50'));
    for (const side of sides) rows.push(row(callers, side, results.get(side), floor));
    goals.push({
      text: `p50 at ${callers} callers at most ${GOAL} x floor`,
      value: times(ours / floor),
      met: ours <= GOAL * floor,
    });
    const limit = CAREFUL_GOALS[callers];
    if (limit !== undefined)
      goals.push({
        text: `p50 at ${callers} callers at most ${limit} x careful floor`,
        value: times(ours / careful),
        met: ours <= limit * careful,
      });
    raw[callers] = Object.fromEntries(sides.map((side) => [side.name, results.get(side)]));
  }
  await stage.stop(...sides.flatMap(({ processes }) => processes));
  const columns = [
    'callers',
    'side',
    'p50',
    'p99',
    'p50 / floor',
    'calls',
    'API cpu',
    'worker cpu',
    'Postgres cpu',
    'load',
  ];
  return { columns, rows, goals, raw };
}

function row(callers, side, rounds, floor) {
  const p50 = medianOf(rounds, 'p50');
  return [
    callers,
    side.name,
    milliseconds(p50),
    milliseconds(medianOf(rounds, 'p99')),
    times(p50 / floor),
    rate(medianOf(rounds, 'perSecond')),
    milliseconds(cpuPerCall(rounds, 'api')),
    milliseconds(cpuPerCall(rounds, 'worker')),
    milliseconds(cpuPerCall(rounds, 'postgres')),
    percent(medianOf(rounds, 'cpuShare')),
  ];
}

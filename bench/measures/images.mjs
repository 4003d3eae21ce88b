import { inTurns, medianOf, milliseconds, rate, times } from '../figures.mjs';
import { cases, checkAnswer, requestOf } from '../peers/cases.mjs';
import { pidsOf, startDarkroom } from '../peers/sides.mjs';
import { cpuDuring, cpuPerCall } from '../usage.mjs';

const CALLERS = 16;
const WORKER_CONCURRENCY = '64';
/** At most so many times the CPU time of the image floor. */
const GOALS = { inline: 1.6, edit: 1.7 };

export const title = 'Images with their bytes';

/**
 * A call's image from the provider to the caller: 2 MB as base64, as a link, and an edit with an upload of 5 MB. The
 * image floor does the same work with the same files, rows and jobs, and nothing else.
 */
export async function measure({ stage, load, quick }) {
  const provider = await stage.startFloorServer('openai-upstream.mjs');
  const address = `http://127.0.0.1:${provider.port}`;
  const sides = [await startImageFloor(stage, address), await startDarkroom(stage, address)];
  const durationMs = quick ? 1_500 : 5_000;
  const rows = [];
  const goals = [];
  const raw = {};
  for (const call of (await cases()).filter(({ kind }) => ['inline', 'link', 'edit'].includes(kind))) {
    const orders = new Map();
    for (const side of sides) {
      const checked = await checkAnswer(call, side, { address });
      orders.set(side, { port: side.port, requests: [requestOf(call, side)], status: 200, answer: checked.answer });
    }
    const run = (side, ms) =>
      cpuDuring(pidsOf(side), () => load.run({ ...orders.get(side), connections: CALLERS, durationMs: ms }));
    for (const side of sides) await run(side, durationMs / 2);
    const results = await inTurns(sides, quick ? 1 : 3, (side) => run(side, durationMs));
    const [floor, ours] = sides.map((side) => cpuOf(results.get(side)));
    for (const side of sides) rows.push(row(call, side, results.get(side), floor));
    const goal = GOALS[call.kind];
    if (goal !== undefined) {
      const text = `CPU time of ${call.title}, at most ${goal} x the image floor`;
      goals.push({ text, value: times(ours / floor), met: ours <= goal * floor });
    }
    raw[call.kind] = Object.fromEntries(sides.map((side) => [side.name, results.get(side)]));
  }
  await stage.stop(...sides.flatMap(({ processes }) => processes), provider);
  const columns = ['call', 'side', 'calls', 'p50', 'API cpu', 'worker cpu', 'Postgres cpu', 'cpu of both', 'of floor'];
  return { columns, rows, goals, raw };
}

async function startImageFloor(stage, address) {
  const settings = { REDIS_PREFIX: '{images}', PROVIDER: address, WORKER_CONCURRENCY };
  const api = { ...(await stage.startFloorServer('image-api.mjs', settings)), name: 'api' };
  const worker = { ...(await stage.startFloorWorker('image-worker.mjs', settings)), name: 'worker' };
  const processes = [api, worker];
  return { name: 'image floor', port: api.port, key: 'none', processes, services: stage.servicePids };
}

/** Of the two processes, an image, in ms. */
function cpuOf(rounds) {
  return cpuPerCall(rounds, 'api') + cpuPerCall(rounds, 'worker');
}

function row(call, side, rounds, floor) {
  const cpu = cpuOf(rounds);
  return [
    call.title,
    side.name,
    rate(medianOf(rounds, 'perSecond')),
    milliseconds(medianOf(rounds, 'p50')),
    ...['api', 'worker', 'postgres'].map((name) => milliseconds(cpuPerCall(rounds, name))),
    milliseconds(cpu),
    times(cpu / floor),
  ];
}

import { inTurns } from '../figures.mjs';
import { cases, checkAnswer, requestOf } from '../peers/cases.mjs';
import { killInFlight } from '../peers/killed.mjs';
import { figuresOf, report } from '../peers/report.mjs';
import { pidsOf, startSides } from '../peers/sides.mjs';
import { cpuDuring, memoryOfAll } from '../usage.mjs';

const CALLERS = [1, 16, 64];
const ROUNDS = 3;
const ROUND_MS = 1_200;
const QUICK_ROUND_MS = 400;
const WARM_UP_CALLERS = 8;
const WARM_UP_MS = 1_000;
/** Calls that take longer count as wrong. */
const ROUND_TIMEOUT_MS = 20_000;
const SAMPLE_MS = 500;
const LATE_MS = 480_000;

export const title = 'Other gateways with the same provider';

/** Each case directly from the provider, through Darkroom and through every installed peer, in turns. */
export async function measure({ stage, load, quick, tell }) {
  const { provider, sides, missing } = await startSides(stage, tell);
  const gateways = sides.filter((side) => side !== provider);
  const memory = new Map(gateways.map((side) => [side, { idle: memoryOfSide(side), most: 0 }]));
  const late = performance.now() + LATE_MS;
  const calls = await cases();
  const measured = [];
  const problems = [...lacking(gateways, calls)];
  for (const call of calls) {
    const able = [];
    for (const side of sides.filter(({ lacks }) => !(call.kind in lacks))) {
      try {
        const checked = await checkAnswer(call, side, provider);
        const one = { side, order: { port: side.port, requests: [requestOf(call, side)], status: 200, ...checked } };
        await run(load, one, WARM_UP_CALLERS, WARM_UP_MS, memory);
        able.push(one);
      } catch (error) {
        tell(`${side.name}, ${call.title}: ${error.message}`);
        problems.push({ side, call, reason: error.message.split('\n')[0].slice(0, 100) });
      }
    }
    for (const callers of CALLERS) {
      tell(`  ${call.title}, ${callers} ${callers === 1 ? 'caller' : 'callers'} ...`);
      // A slow machine gets fewer rounds, not a longer run.
      const rounds = quick || performance.now() > late ? 1 : ROUNDS;
      const results = await inTurns(able, rounds, (one) =>
        run(load, one, callers, quick ? QUICK_ROUND_MS : ROUND_MS, memory),
      );
      measured.push({ call, callers, figures: figuresOf(results, provider) });
    }
  }
  const killed = await killEach({ stage, gateways, provider, tell });
  await stage.stop(...sides.flatMap(({ processes }) => processes));
  return report({ sides, provider, measured, problems, missing, memory, killed });
}

function lacking(gateways, calls) {
  return gateways.flatMap((side) =>
    calls.filter(({ kind }) => kind in side.lacks).map((call) => ({ side, call, reason: side.lacks[call.kind] })),
  );
}

async function run(load, { side, order }, connections, durationMs, memory) {
  const used = memory.get(side);
  const sample = () => used && (used.most = Math.max(used.most, memoryOfSide(side)));
  const timer = setInterval(sample, SAMPLE_MS);
  try {
    const timeoutMs = durationMs + ROUND_TIMEOUT_MS;
    const { port, requests, status, answer } = order;
    return await cpuDuring(pidsOf(side), () =>
      load.count({ port, requests, status, answer, connections, durationMs, timeoutMs }),
    );
  } finally {
    sample();
    clearInterval(timer);
  }
}

function memoryOfSide(side) {
  return Object.values(pidsOf(side)).reduce((sum, pid) => sum + (memoryOfAll(pid) ?? 0), 0);
}

/** Kills Darkroom's API alone, then with its worker; of a peer, all its processes. */
async function killEach({ stage, gateways, provider, tell }) {
  const kills = gateways.flatMap((side) => {
    const all = side.processes.map(({ name }) => name);
    return all.length > 1
      ? [
          { side, names: ['api'] },
          { side, names: all },
        ]
      : [{ side, names: all }];
  });
  const killed = [];
  for (const { side, names } of kills) {
    const what = side.processes.length > 1 ? `${side.name} (${names.join(' and ')})` : side.name;
    tell(`  killing ${what} with calls in flight ...`);
    const processes = side.processes.filter(({ name }) => names.includes(name));
    const result = await killInFlight({ stage, side, processes, provider }).catch((error) => ({
      error: error.message,
    }));
    killed.push({ side, what, ...result });
    if (result.error !== undefined) tell(`  ${what}: ${result.error}`);
  }
  return killed;
}

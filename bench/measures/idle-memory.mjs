import { setTimeout as delay } from 'node:timers/promises';
import { megabytes } from '../figures.mjs';
import { memoryOf, memoryOfAll } from '../usage.mjs';

/** By then V8 has found both idle, and given back the young generation that only their start needed: 35 MB each. */
const SETTLED_MS = 100_000;
const GOAL_MB = 150;

export const title = 'Memory of an idle API and worker';

/** One API and one worker that have started and been asked for nothing, with images on disk. */
export async function measure({ stage }) {
  const api = await stage.startApi();
  const worker = await stage.startWorker({ instant: false });
  await delay(SETTLED_MS);
  const sides = [api, worker].map(({ name, pid }) => ({
    name,
    resident: memoryOf(pid)?.now,
    share: memoryOfAll(pid),
  }));
  await stage.stop(api, worker);
  const together = sides.reduce((sum, { share }) => sum + (share ?? NaN), 0);
  const goal = { text: `API and worker together at most ${GOAL_MB} MB`, value: megabytes(together) };
  return {
    columns: ['process', 'resident', 'with shared pages counted once'],
    rows: sides.map(({ name, resident, share }) => [name, megabytes(resident), megabytes(share)]),
    goals: [{ ...goal, met: together <= GOAL_MB * 1e6 }],
    raw: { sides },
  };
}

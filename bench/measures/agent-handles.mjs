import { medianOf, milliseconds, rate } from '../figures.mjs';
import { toolCall } from '../requests.mjs';
import { startDarkroom } from '../sides.mjs';

const GOAL_MS = 200;
const CALLERS = [1, 10];

export const title = 'The handle of an agent’s order';

/** How long an MCP client that knows the Tasks extension waits for the task that its order became. */
export async function measure({ stage, load, quick }) {
  const { port, processes } = await startDarkroom(stage);
  const requests = [toolCall(stage.apiKey)];
  const answer = { text: '"resultType":"task"', times: 1 };
  const run = (connections, durationMs) => load.run({ port, requests, connections, durationMs, status: 200, answer });
  await run(10, quick ? 500 : 2_000);
  const results = [];
  for (const callers of CALLERS) {
    const rounds = [];
    for (let round = 0; round < (quick ? 1 : 3); round++) rounds.push(await run(callers, quick ? 1_000 : 4_000));
    results.push({ callers, rounds });
  }
  await stage.stop(...processes);
  return {
    columns: ['callers', 'p50', 'p95', 'p99', 'calls'],
    rows: results.map(({ callers, rounds }) => [
      callers,
      ...['p50', 'p95', 'p99'].map((share) => milliseconds(medianOf(rounds, share))),
      rate(medianOf(rounds, 'perSecond')),
    ]),
    goals: results.map(({ callers, rounds }) => {
      const p95 = medianOf(rounds, 'p95');
      return { text: `p95 at ${callers} callers at most ${GOAL_MS} ms`, value: milliseconds(p95), met: p95 <= GOAL_MS };
    }),
    raw: results,
  };
}

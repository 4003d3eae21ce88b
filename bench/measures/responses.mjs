import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inTurns, medianOf, milliseconds, rate, times } from '../figures.mjs';
import { requestText } from '../socket-caller.mjs';
import { cpuDuring, cpuPerCall } from '../usage.mjs';

/** Of a chat, in CPU time. */
const GOAL = 1.2;
const CALLERS = [1, 64];
const QUESTION = 'What happens to the paper in the developer bath, and why does the light have to be red?';
const INSTRUCTIONS = 'You are a patient teacher of photography.';
const CHAT = {
  messages: [
    { role: 'system', content: INSTRUCTIONS },
    { role: 'user', content: QUESTION },
  ],
};
const RESPONSE = { instructions: INSTRUCTIONS, input: QUESTION };
const SIDES = [
  { name: 'chat', path: '/v1/chat/completions', body: CHAT },
  { name: 'response', path: '/v1/responses', body: { ...RESPONSE, store: false } },
  { name: 'stored response', path: '/v1/responses', body: RESPONSE },
];

export const title = 'Responses beside chats';

/** The same question as a chat and as a response, through the same process, in turns. */
export async function measure({ stage, load, quick }) {
  const upstream = await stage.startFloorServer('openai-upstream.mjs');
  const models = join(stage.folder, 'models.yaml');
  await writeFile(
    models,
    `providers:
  bench: { type: openai, base_url: "http://127.0.0.1:${upstream.port}/v1", keys: [{ env: BENCH_KEY }] }
models:
  gpt-5.5: { kind: chat, routes: [{ provider: bench }] }
`,
  );
  const darkroom = await stage.startApi({ MODELS_FILE: models, BENCH_KEY: 'none' });
  const pids = { darkroom: darkroom.pid, postgres: stage.postgres.pid };
  const rows = [];
  const raw = {};
  const goals = [];
  for (const streamed of [false, true]) {
    const kind = streamed ? 'streamed' : 'plain';
    const run = ({ path, body }, connections, durationMs) => {
      const asked = { model: 'gpt-5.5', ...body, ...(streamed ? { stream: true } : {}) };
      const request = requestText({ method: 'POST', path, apiKey: stage.apiKey, body: asked });
      return cpuDuring(pids, () =>
        load.run({ port: darkroom.port, requests: [request], connections, durationMs, status: 200 }),
      );
    };
    for (const side of SIDES) await run(side, 16, 1_000);
    for (const callers of CALLERS) {
      const results = await inTurns(SIDES, quick ? 2 : 5, (side) => run(side, callers, quick ? 1_500 : 3_000));
      const [chat] = SIDES.map((side) => cpuPerCall(results.get(side), 'darkroom'));
      for (const side of SIDES) {
        const rounds = results.get(side);
        const cpu = cpuPerCall(rounds, 'darkroom');
        const postgres = cpuPerCall(rounds, 'postgres');
        rows.push([
          ...[kind, callers, side.name, rate(medianOf(rounds, 'perSecond')), milliseconds(medianOf(rounds, 'p50'))],
          ...[milliseconds(cpu), times(cpu / chat), Number.isNaN(postgres) ? '' : milliseconds(postgres)],
        ]);
        if (side === SIDES[0]) continue;
        const text = `a ${kind} ${side.name} at ${callers} costs at most ${times(GOAL)} of a chat's CPU time`;
        goals.push({ text, value: times(cpu / chat), met: cpu / chat <= GOAL });
      }
      raw[`${kind} ${callers}`] = Object.fromEntries(SIDES.map((side) => [side.name, results.get(side)]));
    }
  }
  await stage.stop(upstream, darkroom);
  const columns = ['kind', 'callers', 'call', 'calls', 'p50', 'cpu', 'of a chat', 'postgres'];
  return { columns, rows, goals, raw };
}

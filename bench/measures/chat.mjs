import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inTurns, medianOf, milliseconds, percent, rate, times } from '../figures.mjs';
import { portkey } from '../peers/portkey.mjs';
import { requestText } from '../socket-caller.mjs';
import { cpuDuring, cpuPerCall } from '../usage.mjs';

const GOALS = { plain: 0.6, streamed: 0.5 };
const CALLERS = [1, 64];
const MESSAGES = [
  { role: 'system', content: 'You are a patient teacher of photography.' },
  { role: 'user', content: 'What happens to the paper in the developer bath, and why does the light have to be red?' },
];

export const title = 'Chat, plain and streamed';

/** The same chat directly from the provider, through a bare proxy, through Darkroom and through a peer, in turns. */
export async function measure({ stage, load, quick }) {
  const { sides, processes } = await startSides(stage);
  const rows = [];
  const raw = {};
  const figures = {};
  for (const streamed of [false, true]) {
    const kind = streamed ? 'streamed' : 'plain';
    const run = ({ port, pid, key, headers }, connections, durationMs) => {
      const body = { model: 'gpt-5.5', messages: MESSAGES, ...(streamed ? { stream: true } : {}) };
      const request = requestText({ method: 'POST', path: '/v1/chat/completions', apiKey: key, headers, body });
      return cpuDuring({ side: pid }, () =>
        load.run({ port, requests: [request], connections, durationMs, status: 200 }),
      );
    };
    for (const side of sides) await run(side, 16, 1_000);
    for (const callers of CALLERS) {
      const results = await inTurns(sides, quick ? 1 : 5, (side) => run(side, callers, quick ? 1_000 : 3_000));
      const [direct] = sides.map((side) => medianOf(results.get(side), 'p50'));
      for (const side of sides) {
        const rounds = results.get(side);
        const figure = { added: medianOf(rounds, 'p50') - direct, perSecond: medianOf(rounds, 'perSecond') };
        figures[`${kind} ${callers} ${side.name}`] = figure;
        rows.push(row(kind, callers, side, rounds, figure));
      }
      raw[`${kind} ${callers}`] = Object.fromEntries(sides.map((side) => [side.name, results.get(side)]));
    }
  }
  await stage.stop(...processes);
  const columns = ['kind', 'callers', 'side', 'calls', 'p50', 'p99', 'added', 'cpu', 'load'];
  return { columns, rows, goals: ['plain', 'streamed'].flatMap((kind) => goalsOf(kind, figures)), raw };
}

async function startSides(stage) {
  const upstream = await stage.startFloorServer('openai-upstream.mjs');
  const address = `http://127.0.0.1:${upstream.port}`;
  const models = join(stage.folder, 'models.yaml');
  await writeFile(
    models,
    `providers:
  bench: { type: openai, base_url: "${address}/v1", keys: [{ env: BENCH_KEY }] }
models:
  gpt-5.5: { kind: chat, routes: [{ provider: bench }] }
`,
  );
  const bare = await stage.startFloorServer('chat-proxy.mjs', { UPSTREAM: address });
  const darkroom = await stage.startApi({ MODELS_FILE: models, BENCH_KEY: 'none' });
  await portkey.install((line) => process.stderr.write(`${line}\n`));
  const peer = await portkey.start(stage, address);
  const sides = [
    { ...upstream, name: 'provider direct', key: 'none' },
    { ...bare, name: 'bare proxy', key: 'none' },
    { ...darkroom, name: 'Darkroom', key: stage.apiKey },
    { ...peer, name: portkey.name },
  ];
  return { sides, processes: [upstream, bare, darkroom, peer] };
}

function row(kind, callers, side, rounds, { added, perSecond }) {
  return [
    kind,
    callers,
    side.name,
    rate(perSecond),
    milliseconds(medianOf(rounds, 'p50')),
    milliseconds(medianOf(rounds, 'p99')),
    milliseconds(added),
    milliseconds(cpuPerCall(rounds, 'side')),
    percent(medianOf(rounds, 'cpuShare')),
  ];
}

function goalsOf(kind, figures) {
  const [alone, many] = CALLERS;
  const at = (callers, name) => figures[`${kind} ${callers} ${name}`];
  const [ours, bare, peer] = ['Darkroom', 'bare proxy', 'Portkey'].map((name) => at(many, name).perSecond);
  const [added, peerAdded] = ['Darkroom', 'Portkey'].map((name) => at(alone, name).added);
  return [
    {
      text: `${kind} chats/s at least ${percent(GOALS[kind])} of the bare proxy`,
      value: percent(ours / bare),
      met: ours / bare >= GOALS[kind],
    },
    { text: `more ${kind} chats/s than the peer`, value: times(ours / peer), met: ours > peer },
    {
      text: `less added time than the peer, ${kind}, at ${alone} caller`,
      value: `${milliseconds(added)} against ${milliseconds(peerAdded)}`,
      met: added < peerAdded,
    },
  ];
}

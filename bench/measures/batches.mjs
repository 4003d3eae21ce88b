import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { waitUntil } from '#embedded/wait-until.js';
import { megabytes, milliseconds, seconds } from '../figures.mjs';
import { generation } from '../requests.mjs';
import { memoryOf } from '../usage.mjs';

const KILL_EVERY_MS = 10_000;
const SLOTS = 8;
const LATENCY_MS = 250;
/** One image in so many is as large as a provider's photo. */
const REAL_EVERY = 50;
const GROWTH_MB = 50;
const ENDED_MS = 5_400_000;

export const title = 'A batch whose worker is killed every ten seconds, and calls beside a batch';

/**
 * A batch of 10,000 lines, each bought from a provider that counts, while its only worker is killed and started again;
 * then its output is downloaded with all images as base64. Then the times of single calls, alone and beside a batch.
 */
export async function measure({ stage, load, quick, tell }) {
  const killed = await underKills(stage, quick ? 500 : 10_000, tell);
  await stage.clearTasks();
  const beside = await callsBeside(stage, load, quick ? 20 : 100);
  const { provider, memory, output } = killed;
  const growth = memory.downloaded - memory.ran;
  const kept = memory.live.at(-1) - memory.live[0];
  const added = beside.batch.p95 - beside.alone.p95;
  return {
    columns: ['lines', 'took', 'kills', 'bought', 'bought twice', 'images', 'interrupted', 'other errors'],
    rows: [
      [
        ...[killed.lines, seconds(killed.tookMs), killed.kills, provider.starts, provider.twice],
        ...[output.images, killed.interrupted, killed.otherErrors],
      ],
    ],
    facts: [
      `output: ${megabytes(output.bytes)} with ${output.images} images as base64, downloaded in ${seconds(output.tookMs)}`,
      `resident memory of the API: ${megabytes(memory.idle)} idle, at most ${megabytes(memory.ran)} in the run, ${megabytes(memory.downloaded)} with the download; in use after a full garbage collection: ${memory.live.map(megabytes).join(', ')}; worker: at most ${megabytes(memory.worker)}`,
      `${beside.calls} calls, ${SLOTS} slots, service time ${milliseconds(LATENCY_MS)}: p50 ${milliseconds(beside.alone.p50)} alone, ${milliseconds(beside.batch.p50)} beside the batch; p95 ${milliseconds(beside.alone.p95)} and ${milliseconds(beside.batch.p95)}`,
    ],
    goals: [
      { text: 'no line bought twice', value: provider.twice, met: provider.twice === 0 },
      {
        text: 'every line in the results once, and without an image only if its call was interrupted',
        value: `${output.images} + ${killed.interrupted}`,
        met: output.images + killed.interrupted === killed.lines && output.distinct === output.images,
      },
      {
        text: `the download of the output takes at most ${GROWTH_MB} MB more of resident memory`,
        value: megabytes(growth),
        met: growth <= GROWTH_MB * 1e6,
      },
      {
        text: `the API keeps at most ${GROWTH_MB} MB more than before, after a full garbage collection`,
        value: megabytes(kept),
        met: kept <= GROWTH_MB * 1e6,
      },
      {
        text: 'p95 of calls beside a batch grows by at most one service time',
        value: milliseconds(added),
        met: added <= LATENCY_MS,
      },
    ],
    raw: { killed, beside },
  };
}

async function underKills(stage, lines, tell) {
  const provider = await stage.startLedgerUpstream({ HOLD_MS: '100', REAL_EVERY: String(REAL_EVERY) });
  await provider.begin();
  const bought = { OPENAI_API_KEY: 'bench', OPENAI_BASE_URL: `http://127.0.0.1:${provider.port}/v1` };
  const api = await stage.startApi({ ...bought, PROBE_LIVE: '1' }, { probed: true });
  let worker = await stage.startWorker({ instant: false, settings: { ...bought, WORKER_CONCURRENCY: String(SLOTS) } });
  const live = [(await stage.probe(api)).liveBytes];
  const idle = memoryOf(api.pid)?.now;
  const since = performance.now();
  const { id } = await startBatch(stage, api, lines, (line) => `a lighthouse, n-${line} of a series`);
  let kills = 0;
  let mostOfWorkers = 0;
  let batch = await ask(stage, api, `/v1/batches/${id}`);
  while (batch.completed_at === null) {
    if (performance.now() - since > ENDED_MS) throw new Error('the batch did not end');
    await delay(KILL_EVERY_MS);
    mostOfWorkers = Math.max(mostOfWorkers, memoryOf(worker.pid)?.peak ?? 0);
    batch = await ask(stage, api, `/v1/batches/${id}`);
    if (['finalizing', 'completed'].includes(batch.status)) continue;
    await stage.kill(worker);
    worker = await stage.startAgain(worker);
    kills++;
    const { completed, failed } = batch.request_counts;
    tell(`  kill ${kills}: ${completed} lines have an image, ${failed} have none`);
  }
  const tookMs = performance.now() - since;
  live.push((await stage.probe(api)).liveBytes);
  const ran = memoryOf(api.pid)?.peak;
  const output = await download(stage, api, batch.output_file_id);
  live.push((await stage.probe(api)).liveBytes);
  const downloaded = memoryOf(api.pid)?.peak;
  const codes = await errorCodes(stage, api, batch.error_file_id);
  const interrupted = codes.filter((code) => code === 'interrupted').length;
  const ledger = await provider.ledger();
  await stage.stop(api, worker, provider);
  return {
    ...{ lines, tookMs, kills, interrupted, otherErrors: codes.length - interrupted, output },
    provider: { starts: ledger.starts, twice: ledger.twice },
    memory: { idle, ran, downloaded, live, worker: mostOfWorkers },
  };
}

/** Calls of the same key one after the other, each for one image: alone, and while a batch fills all slots. */
async function callsBeside(stage, load, calls) {
  const api = await stage.startApi();
  const settings = { WORKER_CONCURRENCY: String(SLOTS), LATENCY_MS: String(LATENCY_MS) };
  const worker = await stage.startWorker({ settings });
  const requests = [generation(stage.apiKey, { response_format: 'url' })];
  const run = async (total) =>
    await load.run({ port: api.port, requests, connections: 1, total, status: 200, timeoutMs: 60_000 });
  // The first calls of new processes are slower.
  await run(10);
  const alone = await run(calls);
  const { id } = await startBatch(stage, api, 40_000, (line) => `one of many, n-${line}`);
  const running = async () => {
    const { rows } = await stage.pool.query('SELECT count(*)::int AS count FROM tasks WHERE batch_id = $1', [id]);
    return rows[0].count > 2 * SLOTS;
  };
  if (!(await waitUntil(running, { timeoutMs: 60_000 }))) throw new Error('the batch does not run');
  const batch = await run(calls);
  const { status } = await ask(stage, api, `/v1/batches/${id}`);
  if (status !== 'in_progress') throw new Error(`the batch was ${status} before the calls had ended`);
  await stage.stop(api, worker);
  await stage.clearTasks();
  return { calls, alone: timesOf(alone), batch: timesOf(batch) };
}

function timesOf({ p50, p95 }) {
  return { p50, p95 };
}

async function startBatch(stage, api, count, promptOf) {
  const lines = Array.from({ length: count }, (_, at) => {
    const body = { model: 'gpt-image-2', size: 'auto', response_format: 'b64_json', prompt: promptOf(at + 1) };
    return JSON.stringify({ custom_id: `line-${at + 1}`, method: 'POST', url: '/v1/images/generations', body });
  });
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('file', new Blob([`${lines.join('\n')}\n`]), 'requests.jsonl');
  const file = await ask(stage, api, '/v1/files', { method: 'POST', body: form });
  const body = { input_file_id: file.id, endpoint: '/v1/images/generations', completion_window: '24h' };
  const headers = { 'content-type': 'application/json' };
  return await ask(stage, api, '/v1/batches', { method: 'POST', body: JSON.stringify(body), headers });
}

async function ask(stage, api, path, options) {
  return await (await send(stage, api, path, options)).json();
}

async function send({ apiKey }, { port }, path, { headers, ...options } = {}) {
  const authorized = { ...headers, authorization: `Bearer ${apiKey}` };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { ...options, headers: authorized });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}

/** Reads a file of results line by line; counts the images, and the lines that have one. */
async function download(stage, api, id) {
  const since = performance.now();
  let bytes = 0;
  let images = 0;
  const ids = new Set();
  for await (const line of linesOf(await send(stage, api, `/v1/files/${id}/content`))) {
    const { custom_id: customId, response } = JSON.parse(line);
    bytes += line.length + 1;
    ids.add(customId);
    const image = Buffer.from(response.body.data[0].b64_json, 'base64');
    if (image.subarray(1, 4).toString() === 'PNG') images++;
  }
  return { bytes, images, distinct: ids.size, tookMs: performance.now() - since };
}

async function errorCodes(stage, api, id) {
  const codes = [];
  if (id === null) return codes;
  for await (const line of linesOf(await send(stage, api, `/v1/files/${id}/content`))) {
    const { response, error } = JSON.parse(line);
    codes.push(response?.body.error.code ?? error.code);
  }
  return codes;
}

function linesOf(response) {
  return createInterface({ input: Readable.fromWeb(response.body), crlfDelay: Infinity });
}

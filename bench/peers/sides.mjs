import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { litellm } from './litellm.mjs';
import { newApi } from './new-api.mjs';
import { portkey } from './portkey.mjs';

const PEERS = [litellm, newApi, portkey];
/** As many concurrent provider calls as callers; with the default of 10, the others would wait. */
const WORKER_CONCURRENCY = '64';
/** Bytes for images of 2048 x 2048 for all of them, of which one account gets half; the default is enough for 48. */
const IMAGE_MEMORY = '1610612736';

/** Installs the peers; failures are reported, not fatal. */
export async function installPeers(tell) {
  for (const peer of PEERS) {
    await peer.install(tell).then(
      () => tell(`${peer.name} ${peer.version ?? ''}`),
      (error) => tell(`${peer.name} could not be installed: ${error.message}`),
    );
  }
}

/** Starts Darkroom and every installed peer, all with the same provider; missing peers are reported, not fatal. */
export async function startSides(stage, tell) {
  const upstream = await stage.startFloorServer('openai-upstream.mjs');
  const address = `http://127.0.0.1:${upstream.port}`;
  const provider = {
    name: 'provider direct',
    port: upstream.port,
    key: 'none',
    address,
    processes: [upstream],
    lacks: {},
  };
  const sides = [provider, await startDarkroom(stage, address)];
  const missing = [];
  for (const peer of PEERS) {
    tell(`Starting ${peer.name} ...`);
    try {
      const started = await peer.start(stage, address);
      const { port, key, headers } = started;
      sides.push({
        name: peer.name,
        version: peer.version,
        port,
        key,
        headers,
        lacks: peer.lacks,
        processes: [started],
      });
    } catch (error) {
      const [reason] = error.message.split('\n');
      tell(`${peer.name} is left out: ${error.message}`);
      missing.push({ name: peer.name, reason });
    }
  }
  return { provider, sides, missing };
}

/** One API and one worker; Postgres and Redis count as part of it. */
export async function startDarkroom(stage, address) {
  const models = join(stage.folder, 'peers-models.yaml');
  await writeFile(
    models,
    `providers:
  bench: { type: openai, base_url: "${address}/v1", keys: [{ env: BENCH_KEY }] }
models:
  gpt-image-2: { kind: image, aliases: [dall-e-3], routes: [{ provider: bench }] }
  gpt-5.5: { kind: chat, routes: [{ provider: bench }] }
`,
  );
  const settings = { MODELS_FILE: models, BENCH_KEY: 'none' };
  const api = await stage.startApi(settings);
  const worker = await stage.startWorker({
    instant: false,
    settings: { ...settings, WORKER_CONCURRENCY, IMAGE_MEMORY },
  });
  return {
    name: 'Darkroom',
    port: api.port,
    key: stage.apiKey,
    lacks: {},
    processes: [api, worker],
    services: stage.servicePids,
  };
}

/** The processes that count for a side's CPU time and memory, by name. */
export function pidsOf({ processes, services = {} }) {
  return { ...Object.fromEntries(processes.map(({ name, pid }) => [name, pid])), ...services };
}

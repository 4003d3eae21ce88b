import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { loadConfig } from '#config/load-config.js';
import { waitUntil } from '#embedded/wait-until.js';
import { createObjectStore } from '#storage/create-object-store.js';
import { resultKey } from '#storage/object-key.js';
import { StorageConfig } from '#storage/storage.config.js';
import { TaskTransitions } from '#tasks/states/task-transitions.js';
import { megabytes, milliseconds, seconds } from '../figures.mjs';
import { generation } from '../requests.mjs';
import { memoryOf } from '../usage.mjs';

const CALLERS = 16;
const BYTES = 19_000_000;
const GOAL_MB = 250;
const GOAL_BLOCKED_MS = 200;

export const title = 'Sixteen results of 19 MB as base64 at once';

/** The measure acts as the worker: it completes all sixteen tasks at once, each with its own image. */
export async function measure({ stage, load }) {
  const api = await stage.startApi({}, { probed: true });
  const idle = memoryOf(api.pid)?.now;
  const requests = [generation(stage.apiKey, { response_format: 'b64_json' })];
  const calls = load.run({
    port: api.port,
    requests,
    connections: CALLERS,
    total: CALLERS,
    status: 200,
    timeoutMs: 90_000,
  });
  calls.catch(() => undefined);
  const pending = async () =>
    (await stage.pool.query(`SELECT id FROM tasks WHERE status = 'pending'`)).rows.map(({ id }) => id);
  await waitUntil(async () => (await pending()).length === CALLERS, { timeoutMs: 30_000 });
  const finish = await prepare(stage, await pending());
  await stage.probe(api);
  const since = performance.now();
  await finish();
  const { calls: answered } = await calls;
  const tookMs = performance.now() - since;
  const loop = await stage.probe(api);
  const { peak } = memoryOf(api.pid) ?? {};
  const redis = new Redis(stage.redis.url);
  const inRedis = Number(/used_memory_dataset:(\d+)/.exec(await redis.info('memory'))?.[1]);
  redis.disconnect();
  await stage.stop(api);
  return {
    columns: ['callers', 'each', 'answered', 'took', 'idle', 'peak', 'event loop p99', 'max', 'Redis data'],
    rows: [
      [
        ...[CALLERS, megabytes(BYTES), answered, seconds(tookMs), megabytes(idle), megabytes(peak)],
        ...[milliseconds(loop.p99), milliseconds(loop.max), megabytes(inRedis)],
      ],
    ],
    goals: [
      { text: `at most ${GOAL_MB} MB resident`, value: megabytes(peak), met: peak <= GOAL_MB * 1e6 },
      {
        text: `event loop never blocked for more than ${GOAL_BLOCKED_MS} ms`,
        value: milliseconds(loop.max),
        met: loop.max <= GOAL_BLOCKED_MS,
      },
    ],
    raw: { answered, tookMs, idle, peak, loop, inRedis },
  };
}

/** Claims every task and stores its image; returns a function that completes them all. */
async function prepare(stage, ids) {
  const store = await createObjectStore(loadConfig([StorageConfig], { DATA_DIR: stage.dataFolder })[0]);
  const transitions = new TaskTransitions({ pool: stage.pool });
  for (const id of ids) {
    await transitions.claim(id, 'bench', 60_000);
    await store.put(resultKey(id, 1, 'png'), [randomBytes(BYTES)], { contentType: 'image/png' });
  }
  const image = { contentType: 'image/png', width: 2_880, height: 2_880, bytes: BYTES, sha256: '' };
  return async () => {
    for (const id of ids) {
      const images = [{ ...image, key: resultKey(id, 1, 'png') }];
      await transitions.complete({ id, attempt: 1 }, { images, usage: undefined, warnings: [] });
    }
  };
}

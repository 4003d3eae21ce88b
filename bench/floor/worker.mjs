// The floor of a job: receive it, write one row, publish an event.
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'bullmq';
import { CHANNEL, openPool, openRedis, PREFIX, QUEUE } from './table.mjs';

/** How long an image takes, for measures that need it. */
const LATENCY_MS = Number(process.env.LATENCY_MS ?? 0);
const pool = openPool();
const redis = openRedis();
const FINISH = {
  name: 'finish',
  text: `UPDATE tasks SET status = 'completed', progress = 100, images = $2, finished_at = now() WHERE id = $1`,
};

const worker = new Worker(
  QUEUE,
  async ({ data: { id } }) => {
    if (LATENCY_MS > 0) await delay(LATENCY_MS);
    const images = [{ key: `results/${id}.png`, contentType: 'image/png', width: 64, height: 64 }];
    await pool.query({ ...FINISH, values: [id, JSON.stringify(images)] });
    await redis.publish(CHANNEL, id);
  },
  { connection: openRedis(true), prefix: PREFIX, concurrency: Number(process.env.WORKER_CONCURRENCY) },
);
await worker.waitUntilReady();
process.stdout.write('ready\n');
process.on('SIGTERM', () => process.exit());

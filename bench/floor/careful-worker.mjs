// Everything that Darkroom persists for one image, in as few lines as possible: claim, count the start, publish the
// phase, store the file durably, settle. Shows how much of a call these guarantees cost in any implementation.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'bullmq';
import { TINY_PNG } from '../instant-provider.mjs';
import { storeDurably } from './image-file.mjs';
import { CHANNEL, openPool, openRedis, PREFIX, QUEUE } from './table.mjs';

const pool = openPool();
const redis = openRedis();
const folder = join(process.env.DATA_DIR, 'objects');
const HELD = `id = $1 AND attempt = $2 AND status = 'pending'`;
const CLAIM = {
  name: 'claim',
  text: `UPDATE tasks SET attempt = attempt + 1, lease_until = now() + interval '20 seconds'
    WHERE id = $1 AND status = 'pending' RETURNING attempt, prompt, options`,
};
const START = { name: 'start', text: `UPDATE tasks SET provider_starts = provider_starts + 1 WHERE ${HELD}` };
const STORING = { name: 'storing', text: `UPDATE tasks SET progress = 90 WHERE ${HELD}` };
const FINISH = {
  name: 'finish',
  text: `UPDATE tasks SET status = 'completed', progress = 100, images = $3, finished_at = now(), lease_until = NULL WHERE ${HELD}`,
};

await mkdir(folder, { recursive: true });
const worker = new Worker(
  QUEUE,
  async ({ data: { id } }) => {
    const { rows } = await pool.query({ ...CLAIM, values: [id] });
    const { attempt } = rows[0];
    await pool.query({ ...START, values: [id, attempt] });
    await pool.query({ ...STORING, values: [id, attempt] });
    await storeDurably(folder, `${id}.png`, TINY_PNG);
    const images = [{ key: `${id}.png`, contentType: 'image/png', width: 64, height: 64 }];
    await pool.query({ ...FINISH, values: [id, attempt, JSON.stringify(images)] });
    await redis.publish(CHANNEL, id);
  },
  { connection: openRedis(true), prefix: PREFIX, concurrency: Number(process.env.WORKER_CONCURRENCY) },
);
await worker.waitUntilReady();
process.stdout.write('ready\n');
process.on('SIGTERM', () => process.exit());

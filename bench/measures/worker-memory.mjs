import { waitUntil } from '#embedded/wait-until.js';
import { megabytes, seconds } from '../figures.mjs';
import { generation } from '../requests.mjs';
import { memoryOf } from '../usage.mjs';

export const title = 'Memory of a worker over many large images';

const GOAL_MB = 450;

/** The real worker, with the sandbox rendering 3840 x 2160 PNG images one after the other, ten tasks at a time. */
export async function measure({ stage, load, quick }) {
  const images = quick ? 12 : 200;
  const api = await stage.startApi();
  const worker = await stage.startWorker({ instant: false });
  const start = memoryOf(worker.pid)?.now;
  const fields = { asynchronous: true, size: '16:9', resolution: '4k', output_format: 'png' };
  const requests = [generation(stage.apiKey, fields)];
  const since = performance.now();
  const earlier = await finished(stage.pool);
  await load.run({ port: api.port, requests, connections: 10, total: images, status: 202, timeoutMs: 30_000 });
  const samples = [];
  const done = await waitUntil(
    async () => {
      const count = (await finished(stage.pool)) - earlier;
      samples.push({ count, bytes: memoryOf(worker.pid)?.now });
      return count >= images;
    },
    { timeoutMs: 400_000, everyMs: 250 },
  );
  if (!done) throw new Error(`only ${(await finished(stage.pool)) - earlier} of ${images} images were finished`);
  const tookMs = performance.now() - since;
  const peak = memoryOf(worker.pid)?.peak;
  const halfway = samples.find(({ count }) => count >= images / 2)?.bytes;
  const end = samples.at(-1).bytes;
  await stage.stop(api, worker);
  return {
    columns: ['images', 'start', 'halfway', 'end', 'peak', 'took', 'images/s'],
    rows: [
      [images, ...[start, halfway, end, peak].map(megabytes), seconds(tookMs), ((images / tookMs) * 1000).toFixed(2)],
    ],
    goals: [{ text: `at most ${GOAL_MB} MB resident`, value: megabytes(peak), met: peak <= GOAL_MB * 1e6 }],
    raw: { images, start, halfway, end, peak, tookMs, samples },
  };
}

async function finished(pool) {
  const { rows } = await pool.query(`SELECT count(*)::int AS count FROM tasks WHERE status = 'completed'`);
  return rows[0].count;
}

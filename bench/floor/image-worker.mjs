// The floor of an image job: claim the row, send the order (with the stored image of an edit), decode the answer's base64
// or follow its link, check the file, store it, settle the row, publish an event.
import { mkdir, readFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { Worker } from 'bullmq';
import { checkedDigest, storeDurably } from './image-file.mjs';
import { CHANNEL, openPool, openRedis, PREFIX, QUEUE } from './table.mjs';

const BOUNDARY = 'floor-4b1d2c';
const INLINE = '"b64_json":"';
const pool = openPool();
const redis = openRedis();
const agent = new Agent({ keepAlive: true });
const folder = join(process.env.DATA_DIR, 'images');
const CLAIM = {
  name: 'claim',
  text: `UPDATE tasks SET attempt = attempt + 1, lease_until = now() + interval '20 seconds', provider_starts = 1
    WHERE id = $1 AND status = 'pending' RETURNING attempt, model, prompt, options`,
};
const FINISH = {
  name: 'finish',
  text: `UPDATE tasks SET status = 'completed', progress = 100, images = $3, finished_at = now(), lease_until = NULL
    WHERE id = $1 AND attempt = $2 AND status = 'pending'`,
};

await mkdir(folder, { recursive: true });
const worker = new Worker(
  QUEUE,
  async ({ data: { id } }) => {
    const { rows } = await pool.query({ ...CLAIM, values: [id] });
    const [{ attempt, ...order }] = rows;
    const image = await imageOf(await (order.options.input === undefined ? generate(order) : edit(order)));
    const sha256 = checkedDigest(image);
    await storeDurably(folder, `${id}.png`, image);
    const images = [{ key: `${id}.png`, contentType: 'image/png', bytes: image.length, sha256 }];
    await pool.query({ ...FINISH, values: [id, attempt, JSON.stringify(images)] });
    await redis.publish(CHANNEL, id);
  },
  { connection: openRedis(true), prefix: PREFIX, concurrency: Number(process.env.WORKER_CONCURRENCY) },
);
await worker.waitUntilReady();
process.stdout.write('ready\n');
process.on('SIGTERM', () => process.exit());

async function generate({ model, prompt, options }) {
  const body = Buffer.from(JSON.stringify({ model, prompt, ...options }));
  return call('POST', `${process.env.PROVIDER}/v1/images/generations`, 'application/json', [body]);
}

async function edit({ model, prompt, options: { input, ...options } }) {
  const part = (head) => `--${BOUNDARY}\r\nContent-Disposition: form-data; name=${head}\r\n\r\n`;
  const fields = Object.entries({ model, prompt, ...options }).map(
    ([name, value]) => `${part(`"${name}"`)}${value}\r\n`,
  );
  const head = `${fields.join('')}${part('"image"; filename="image.png"\r\nContent-Type: image/png')}`;
  const body = [Buffer.from(head), await readFile(join(folder, input.name)), Buffer.from(`\r\n--${BOUNDARY}--\r\n`)];
  return call('POST', `${process.env.PROVIDER}/v1/images/edits`, `multipart/form-data; boundary=${BOUNDARY}`, body);
}

/** The image of a provider's answer, of which nothing else is parsed. */
async function imageOf(answer) {
  const from = answer.indexOf(INLINE) + INLINE.length;
  if (from >= INLINE.length) return Buffer.from(answer.latin1Slice(from, answer.indexOf('"', from)), 'base64');
  return call('GET', JSON.parse(answer).data[0].url);
}

function call(method, url, type, body = []) {
  return new Promise((resolve, reject) => {
    const length = body.reduce((sum, { length }) => sum + length, 0);
    const headers = type === undefined ? {} : { 'content-type': type, 'content-length': length };
    const sent = request(url, { method, agent, headers }, (response) => {
      const whole = Buffer.allocUnsafe(Number(response.headers['content-length']));
      let at = 0;
      response.on('data', (chunk) => (at += chunk.copy(whole, at)));
      response.on('end', () => (response.statusCode === 200 ? resolve(whole) : reject(new Error(whole.toString()))));
      response.on('error', reject);
    });
    sent.on('error', reject);
    for (const piece of body) sent.write(piece);
    sent.end();
  });
}

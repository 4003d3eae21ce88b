// The floor of an image call with its bytes: parse JSON or a form, check and store the form's image, insert a row, add a
// job, wait for the event, read the row and the file, and respond with base64 or a link.
import { randomUUID } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { checkedDigest, storeDurably } from './image-file.mjs';
import { CHANNEL, openPool, openRedis, PREFIX, QUEUE } from './table.mjs';

const pool = openPool();
const redis = openRedis();
const queue = new Queue(QUEUE, { connection: redis, prefix: PREFIX });
const events = openRedis(true);
const folder = join(process.env.DATA_DIR, 'images');
const waiting = new Map();
const INSERT = { name: 'insert', text: 'INSERT INTO tasks (id, model, prompt, options) VALUES ($1, $2, $3, $4)' };
const FIND = { name: 'find', text: 'SELECT id, options, images, created_at FROM tasks WHERE id = $1' };

await mkdir(folder, { recursive: true });
await events.subscribe(CHANNEL);
events.on('message', (_channel, id) => {
  const response = waiting.get(id);
  waiting.delete(id);
  if (response !== undefined) answer(id, response).catch((error) => fail(response, error));
});

const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
  if (request.method === 'GET') {
    readFile(join(folder, request.url.slice(1))).then(
      (image) => send(response, 200, 'image/png', image),
      (error) => fail(response, error),
    );
    return;
  }
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    submit(request.headers['content-type'], Buffer.concat(chunks), response).catch((error) => fail(response, error));
  });
});
server.listen(Number(process.env.PORT), '127.0.0.1', () => process.stdout.write('ready\n'));
process.on('SIGTERM', () => process.exit());

async function submit(type, body, response) {
  const id = `task_${randomUUID()}`;
  const { image, prompt, model, ...options } = type.startsWith('multipart/') ? formOf(type, body) : JSON.parse(body);
  if (image !== undefined) {
    options.input = { name: `${id}-input.png`, sha256: checkedDigest(image) };
    await storeDurably(folder, options.input.name, image);
  }
  await pool.query({ ...INSERT, values: [id, model, prompt, JSON.stringify(options)] });
  waiting.set(id, response);
  await queue.add('run', { id }, { jobId: id, removeOnComplete: true, removeOnFail: true });
}

function formOf(type, body) {
  const fields = {};
  const mark = Buffer.from(`--${/boundary=(.*)$/.exec(type)[1]}`);
  for (let at = 0; ;) {
    const head = body.indexOf('\r\n\r\n', at);
    const name = head === -1 ? undefined : /name="(\w+)"/.exec(body.toString('latin1', at, head))?.[1];
    if (name === undefined) return fields;
    const end = body.indexOf(mark, head);
    const content = body.subarray(head + 4, end - 2);
    fields[name] = name === 'image' ? content : content.toString();
    at = end;
  }
}

async function answer(id, response) {
  const { rows } = await pool.query({ ...FIND, values: [id] });
  const [{ images, options, created_at: createdAt }] = rows;
  const created = Math.floor(createdAt.getTime() / 1_000);
  if (options.response_format === 'url') {
    const url = `http://127.0.0.1:${process.env.PORT}/${images[0].key}`;
    send(response, 200, 'application/json', Buffer.from(JSON.stringify({ created, data: [{ url }] })));
    return;
  }
  const image = await readFile(join(folder, images[0].key));
  const text = `{"created":${created},"data":[{"b64_json":"${image.toString('base64')}"}]}`;
  send(response, 200, 'application/json', Buffer.from(text, 'latin1'));
}

function send(response, status, type, body) {
  response.writeHead(status, { 'content-type': type, 'content-length': body.length }).end(body);
}

function fail(response, error) {
  send(response, 500, 'text/plain', Buffer.from(String(error)));
}

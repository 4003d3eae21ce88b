// The floor of a call: parse, insert a row, add a job, wait for the event, respond. No framework, checks or guarantees.
// With REREAD=1 the response comes from the row, as in Darkroom; otherwise, only from the id.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Queue } from 'bullmq';
import { CHANNEL, openPool, openRedis, PREFIX, QUEUE } from './table.mjs';

const pool = openPool();
const redis = openRedis();
const queue = new Queue(QUEUE, { connection: redis, prefix: PREFIX });
const events = openRedis(true);
const waiting = new Map();
const INSERT = { name: 'insert', text: 'INSERT INTO tasks (id, model, prompt, options) VALUES ($1, $2, $3, $4)' };
const FIND = { name: 'find', text: 'SELECT id, status, images, created_at FROM tasks WHERE id = $1' };
const reread = process.env.REREAD === '1';

await events.subscribe(CHANNEL);
events.on('message', (_channel, id) => {
  const response = waiting.get(id);
  waiting.delete(id);
  if (response === undefined) return;
  if (reread) finishFromRow(id, response).catch((error) => send(response, 500, { error: String(error) }));
  else send(response, 200, imageOf(id, Date.now()), id);
});

const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    submit(JSON.parse(Buffer.concat(chunks).toString('utf8')), request.url.endsWith('/async'), response).catch(
      (error) => send(response, 500, { error: String(error) }),
    );
  });
});
server.listen(Number(process.env.PORT), '127.0.0.1', () => process.stdout.write('ready\n'));
process.on('SIGTERM', () => process.exit());

async function submit({ model, prompt, ...options }, asynchronous, response) {
  const id = `task_${randomUUID()}`;
  await pool.query({ ...INSERT, values: [id, model, prompt, JSON.stringify(options)] });
  if (!asynchronous) waiting.set(id, response);
  await queue.add('run', { id }, { jobId: id, removeOnComplete: true, removeOnFail: true });
  if (asynchronous) send(response, 202, { id, status: 'pending' }, id);
}

async function finishFromRow(id, response) {
  const { rows } = await pool.query({ ...FIND, values: [id] });
  send(response, 200, imageOf(rows[0].id, rows[0].created_at.getTime()), id);
}

function imageOf(id, createdMs) {
  return { created: Math.floor(createdMs / 1000), data: [{ url: `http://127.0.0.1/i/${id}.png` }] };
}

function send(response, status, body, id = '') {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': text.length, 'x-task-id': id });
  response.end(text);
}

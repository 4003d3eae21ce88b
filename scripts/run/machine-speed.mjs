// How much slower this machine is now than the one that the deadlines of the tests were written on.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

/** Deadlines were written on two idle cores, which did the work of `workTogether` by six in this time. */
const REFERENCE = { atOnce: 6, workMs: 500, tripsMs: 250 };
/** How many times longer deadlines are than needed: other programs may start during the run. */
export const SPARE = 3;
const TRIPS = 200;

/**
 * Returns by what to multiply deadlines, at least 1. Does a fixed piece of work on as many threads as test files run at a
 * time, and asks Postgres as often from as many connections, if there is one: cores, their speed, a CPU quota and what
 * else the machine does all count.
 */
export async function measureSlowness(atOnce, postgresUrl) {
  const share = REFERENCE.atOnce / atOnce;
  const work = ((await workTogether(atOnce)) * share) / REFERENCE.workMs;
  const trips = postgresUrl === undefined ? 0 : ((await askTogether(atOnce, postgresUrl)) * share) / REFERENCE.tripsMs;
  return Math.max(1, SPARE * Math.max(work, trips));
}

async function workTogether(atOnce) {
  const threads = Array.from({ length: atOnce }, () => new Worker(new URL(import.meta.url)));
  await Promise.all(threads.map((thread) => once(thread, 'message')));
  const since = performance.now();
  await Promise.all(
    threads.map((thread) => {
      thread.postMessage('begin');
      return once(thread, 'message');
    }),
  );
  const took = performance.now() - since;
  await Promise.all(threads.map((thread) => thread.terminate()));
  return took;
}

async function askTogether(atOnce, connectionString) {
  const { default: pg } = await import('pg');
  const clients = Array.from({ length: atOnce }, () => new pg.Client({ connectionString }));
  await Promise.all(clients.map((client) => client.connect()));
  const since = performance.now();
  await Promise.all(
    clients.map(async (client) => {
      for (let trip = 0; trip < TRIPS; trip++) await client.query('SELECT 1');
    }),
  );
  const took = performance.now() - since;
  await Promise.all(clients.map((client) => client.end()));
  return took;
}

/** What tests do all the time: texts and bytes; an eighth of a second on one idle core. */
function work() {
  const rows = Array.from({ length: 20_000 }, (_, n) => ({ n, name: `image ${n}`, tags: ['a', 'b'] }));
  for (let round = 0; round < 10; round++) JSON.parse(JSON.stringify(rows));
  const hash = createHash('sha256');
  for (let round = 0; round < 16; round++) hash.update(Buffer.alloc(1_000_000, round));
  return hash.digest('hex');
}

if (!isMainThread) {
  parentPort.once('message', () => parentPort.postMessage(work()));
  parentPort.postMessage('ready');
}

import { Redis } from 'ioredis';
import { waitUntil } from '#embedded/wait-until.js';
import { call } from './fault-callers.js';
import type { FaultRoom, Member } from './fault-room.js';
import type { Violation } from './oracle.js';
import { patient } from './patience.js';
import type { Wish } from './traffic.js';

/** Maximum open connections per process; a worker needs one more for each kind of job. */
const POSTGRES_PER_PROCESS = 10;
const REDIS_PER_PROCESS = { api: 5, worker: 6 };
/** Every PNG in base64 starts like this. */
const BASE64 = 'iVBORw0KGgo';

/** Checks from outside when everything is idle: APIs, logs, Redis, connections. */
export async function checkExternalState(
  room: FaultRoom,
  wishes: readonly Wish[],
  keys: readonly string[],
  secrets: readonly string[],
): Promise<Violation[]> {
  const found: Violation[] = [];
  for (const surprise of room.members.flatMap((member) => member.surprises))
    found.push({ guarantee: 'G6', what: surprise });
  for (const what of await foreignAccess(room, wishes, keys)) found.push({ guarantee: 'G10', what });
  for (const what of await leaks(room, wishes, [...secrets, BASE64])) found.push({ guarantee: 'G11', what });
  for (const what of await images(room, wishes)) found.push({ guarantee: 'G2', what });
  for (const what of await connections(room)) found.push({ guarantee: 'G6', what });
  return found;
}

/** The last key belongs to another account: tasks of the others must look nonexistent to it. */
async function foreignAccess(room: FaultRoom, wishes: readonly Wish[], keys: readonly string[]): Promise<string[]> {
  const stranger = keys.at(-1) ?? '';
  const ids = wishes
    .filter(({ key, taskId }) => key !== stranger && taskId !== undefined)
    .map(({ taskId }) => taskId ?? '');
  const unknown = await call(room.api, stranger, `/v1/tasks/task_${'0'.repeat(26)}`);
  const found: string[] = [];
  const bare = (text: string): string => text.replace(/req_\w+/g, '');
  for (const id of ids.slice(-20)) {
    const look = await call(room.api, stranger, `/v1/tasks/${id}`);
    if (look.status !== 404 || bare(look.text) !== bare(unknown.text))
      found.push(`a stranger saw ${id}: ${look.status}`);
  }
  const list = await call(room.api, stranger, '/v1/tasks?limit=100');
  for (const id of ids) if (list.text.includes(id)) found.push(`a stranger's list has ${id}`);
  return found;
}

async function leaks(room: FaultRoom, wishes: readonly Wish[], secrets: readonly string[]): Promise<string[]> {
  const errors = wishes.flatMap(({ calls }) =>
    calls.flatMap(({ outcome }) => (outcome.status >= 400 ? [outcome.text] : [])),
  );
  const places = { logs: room.output(), Redis: await redisContent(room), 'error bodies': errors.join('\n') };
  return Object.entries(places).flatMap(([place, text]) =>
    secrets.filter((secret) => text.includes(secret)).map((secret) => `${place} hold ${secret.slice(0, 12)}...`),
  );
}

async function redisContent(room: FaultRoom): Promise<string> {
  const redis = new Redis(room.redis.url, { commandTimeout: patient(10_000) });
  redis.on('error', () => undefined);
  const texts: string[] = [];
  for (const key of await redis.keys('*')) {
    // DUMP compresses values, so readable types are read directly.
    const type = await redis.type(key);
    texts.push(key);
    if (type === 'string') texts.push(JSON.stringify(await redis.get(key)));
    if (type === 'hash') texts.push(JSON.stringify(await redis.hgetall(key)));
    if (type === 'list') texts.push(JSON.stringify(await redis.lrange(key, 0, -1)));
    if (type === 'zset') texts.push(JSON.stringify(await redis.zrange(key, 0, '-1')));
    if (type === 'stream') texts.push(JSON.stringify(await redis.xrange(key, '-', '+')));
  }
  redis.disconnect();
  return texts.join('\n');
}

/** All APIs must agree about a task, and serve its image. */
async function images(room: FaultRoom, wishes: readonly Wish[]): Promise<string[]> {
  const found: string[] = [];
  for (const { taskId, key } of wishes.filter(({ taskId }) => taskId !== undefined).slice(-40)) {
    const looks = await Promise.all(room.apis.map((api) => call(api, key, `/v1/tasks/${taskId}`)));
    const seen = looks.map(
      ({ body }) => (body as { data?: { status: string; result?: { images: { url: string[] }[] } } }).data,
    );
    if (new Set(seen.map((data) => data?.status)).size !== 1)
      found.push(`${taskId} is ${seen.map((data) => data?.status).join(' and ')}`);
    const url = seen[0]?.result?.images[0]?.url[0];
    if (url === undefined) continue;
    const image = await fetch(url, { signal: AbortSignal.timeout(patient(30_000)) });
    const bytes = Buffer.from(await image.arrayBuffer());
    if (!image.ok || bytes.readUInt32BE(0) !== 0x89504e47) found.push(`${taskId}: its image is ${image.status}`);
  }
  return found;
}

async function connections(room: FaultRoom): Promise<string[]> {
  const found: string[] = [];
  const { rows } = await room.pool.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );
  const count = rows[0]?.count ?? 0;
  if (count > room.members.length * POSTGRES_PER_PROCESS + 3) found.push(`${count} connections to Postgres`);
  for (const member of room.members) {
    const proxy = member.link('redis');
    const limit = REDIS_PER_PROCESS[member.app];
    if (!(await waitUntil(() => proxy.open <= limit, { timeoutMs: 20_000 })))
      found.push(`${member.name} has ${proxy.open} connections to Redis`);
    if (member.app === 'api' && !(await waitUntil(async () => (await waiters(member)) === 0, { timeoutMs: 20_000 }))) {
      found.push(`${member.name} holds ${await waiters(member)} callers that are not there`);
    }
  }
  return found;
}

/** Callers that wait for or follow a task, by the API's own metrics. */
async function waiters(api: Member): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${api.settings['METRICS_PORT']}/metrics`)).text();
  const counts = [...text.matchAll(/^darkroom_(?:held|followed)_tasks(?:\{.*\})? (\d+)$/gm)].map(([, count]) =>
    Number(count),
  );
  if (counts.length !== 2) throw new Error(`${api.name} does not say how many callers it holds`);
  return counts.reduce((sum, count) => sum + count, 0);
}

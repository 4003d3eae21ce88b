/** Concurrent tasks per worker, on every side; Darkroom's default. */
const WORKER_CONCURRENCY = '10';

/** Darkroom with the instant provider: one API process, one worker process. */
export async function startDarkroom(stage) {
  const api = await stage.startApi();
  const worker = await stage.startWorker({ settings: { WORKER_CONCURRENCY } });
  return side('Darkroom', api, worker);
}

/** The floor: as many processes with as little in them as possible. */
export async function startFloor(stage) {
  const api = await stage.startFloorServer('api.mjs');
  const worker = await stage.startFloorWorker('worker.mjs', { WORKER_CONCURRENCY });
  return side('floor', api, worker);
}

/** The floor with the same writes and durability as Darkroom. */
export async function startCarefulFloor(stage) {
  const REDIS_PREFIX = '{careful}';
  const api = await stage.startFloorServer('api.mjs', { REDIS_PREFIX, REREAD: '1' });
  const worker = await stage.startFloorWorker('careful-worker.mjs', { REDIS_PREFIX, WORKER_CONCURRENCY });
  return side('careful floor', api, worker);
}

function side(name, api, worker) {
  return { name, port: api.port, pids: { api: api.pid, worker: worker.pid }, processes: [api, worker] };
}

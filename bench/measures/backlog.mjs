import { Redis } from 'ioredis';
import { megabytes, rate, seconds } from '../figures.mjs';
import { generation } from '../requests.mjs';
import { memoryOf } from '../usage.mjs';

const GOAL_REDIS_MB = 100;
const GOAL_GROWTH = 1.1;
const TIMEOUT_MS = 1_800_000;

export const title = 'A backlog, and what it takes to drain it';

/** Tasks are accepted while no worker runs; then one worker drains them. Takes minutes. */
export async function measure({ stage, load, quick }) {
  const total = quick ? 2_000 : 50_000;
  // After a tenth of them, a process is warmed up.
  const first = total / 10;
  const requests = [generation(stage.apiKey, { asynchronous: true })];
  const order = { requests, connections: 64, status: 202, timeoutMs: TIMEOUT_MS };
  const done = async () => {
    const whole = `status = 'completed' AND provider_starts = 1`;
    return (await stage.pool.query(`SELECT count(*)::int AS n FROM tasks WHERE ${whole}`)).rows[0].n;
  };
  const before = await done();
  const api = await stage.startApi({ PROBE_LIVE: 'yes' }, { probed: true });
  const live = async () => (await stage.probe(api)).liveBytes;
  await load.run({ ...order, port: api.port, total: first });
  const warm = await live();
  const redis = new Redis(stage.redis.url);
  const redisBytes = async () => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
  const empty = await redisBytes();
  const accepted = await load.run({ ...order, port: api.port, total: total - first });
  const full = (await redisBytes()) - empty;
  const holding = await live();
  const since = performance.now();
  const worker = await stage.startWorker();
  await stage.untilIdle(stage.pool, 'tasks', TIMEOUT_MS);
  const drainedMs = performance.now() - since;
  redis.disconnect();
  const after = await live();
  const peak = memoryOf(api.pid)?.peak;
  await stage.stop(api, worker);
  // Redis was measured after the first of them, and its growth per task is the same for the others.
  const perFull = (full / (total - first)) * 50_000;
  const lost = total - ((await done()) - before);
  return {
    columns: [
      'tasks',
      'accepted',
      'Redis',
      'per task',
      'API live before',
      'with all waiting',
      'after',
      'API resident at most',
      'drained in',
      'jobs',
      'lost',
    ],
    rows: [
      [
        total,
        rate(accepted.perSecond),
        megabytes(full),
        `${Math.round(full / (total - first))} B`,
        ...[warm, holding, after, peak].map(megabytes),
        seconds(drainedMs),
        rate((total / drainedMs) * 1000),
        lost,
      ],
    ],
    goals: [
      { text: 'none lost and none started twice', value: `${lost} lost`, met: lost === 0 },
      {
        text: `50,000 take at most ${GOAL_REDIS_MB} MB of Redis`,
        value: megabytes(perFull),
        met: perFull <= GOAL_REDIS_MB * 1e6,
      },
      {
        text: 'API memory stays within 10 %',
        value: `${megabytes(warm)} to ${megabytes(after)}`,
        met: after <= warm * GOAL_GROWTH,
      },
    ],
    raw: { total, accepted: accepted.perSecond, full, warm, holding, after, peak, drainedMs, lost },
  };
}

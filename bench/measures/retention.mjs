import pg from 'pg';
import { ExpireTasks } from '#tasks/retention/expire-tasks.js';
import { percent, rate, seconds, times } from '../figures.mjs';
import { DueRows } from '../history/due-rows.mjs';
import { openHistoryRoom } from '../history/room.mjs';
import { historyOf } from '../history/stage.mjs';
import { cpuDuring } from '../usage.mjs';

/** Accepted tasks per second, and so the tasks that become due. */
const PER_SECOND = 50;
const STEP_MS = 200;
/** The worker starts a run every ten seconds. */
const GOAL_LAG_SECONDS = 30;
const STORE_MS = 20;

export const title = 'Retention on a long history';

/**
 * First, how much the worker removes per second from a backlog; then whether it keeps up for minutes with 50 tasks a
 * second. The last row is for images only, with a store that takes 20 ms per deletion.
 */
export async function measure({ stage, quick, tasks, tell }) {
  const history = await historyOf(stage, { tasks, quick, tell });
  const [backlog, minutes] = quick ? [2_000, 0.5] : [20_000, 2];
  const client = new pg.Client({ connectionString: history.url });
  // After a failure, the server stops first; the failure itself is reported elsewhere.
  client.on('error', () => undefined);
  await client.connect();
  const due = await DueRows.open(client);
  await due.dropBacklog();
  const slowStore = await withSlowStore(stage, history, due, quick ? 1_000 : 4_000);
  await due.add(backlog);
  const before = await due.left();
  const worker = await stage.startRetention(history.url);
  const rates = await drain(due, before, tell);
  tell('The backlog is gone; now rows come due at the rate of life.');
  const pids = { worker: worker.pid, postgres: stage.postgres.pid };
  const steady = await cpuDuring(pids, () => keepUp(due, minutes * 60_000, tell));
  await stage.stop(worker);
  await client.end();
  const slowest = Math.min(...Object.values(rates).map(({ ofLife }) => ofLife));
  const share = (ms) => percent(ms / steady.tookMs);
  return {
    columns: ['rows', 'due at first', 'removed', `of what ${PER_SECOND} tasks/s need`, `left after ${minutes} min`],
    rows: [
      ...Object.entries(rates).map(([kind, { count, perSecond, ofLife }]) => [
        ...[kind, count, rate(perSecond), times(ofLife)],
        steady.left[kind],
      ]),
      [
        `images, ${STORE_MS} ms to delete one`,
        slowStore.count,
        rate(slowStore.perSecond),
        times(slowStore.perSecond / PER_SECOND),
        '',
      ],
    ],
    goals: [
      {
        text: `everything is removed faster than ${PER_SECOND} tasks/s bring it`,
        value: times(slowest),
        met: slowest > 1,
      },
      {
        text: `after ${minutes} min nothing is due for more than ${GOAL_LAG_SECONDS} s`,
        value: `${seconds(steady.lagSeconds * 1_000)}, at first ${seconds(steady.lagBefore * 1_000)}; worker ${share(steady.cpu.worker)} and Postgres ${share(steady.cpu.postgres)} of a core, what makes the rows included`,
        met: steady.lagSeconds <= GOAL_LAG_SECONDS,
      },
    ],
    raw: { rates, steady, slowStore },
  };
}

/** How fast each kind of row is removed from a backlog; all at the same time, as in the worker. */
async function drain(due, before, tell) {
  const since = performance.now();
  const rates = {};
  while (Object.keys(rates).length < Object.keys(before).length) {
    const left = await due.left();
    const took = (performance.now() - since) / 1_000;
    for (const [kind, count] of Object.entries(left)) {
      // More of the history becomes due all the time.
      if (count > before[kind] / 100 || kind in rates) continue;
      const perSecond = (before[kind] - count) / took;
      rates[kind] = { count: before[kind], perSecond, ofLife: perSecond / ((PER_SECOND * before[kind]) / due.created) };
    }
    tell(`Left: ${JSON.stringify(left)}`);
    await pause(STEP_MS);
  }
  return rates;
}

async function keepUp(due, lastsMs, tell) {
  const lagBefore = await due.lagSeconds();
  const since = performance.now();
  const created = due.created;
  let told = since;
  for (let took = 0; took < lastsMs; took = performance.now() - since) {
    const wanted = Math.floor((took / 1_000) * PER_SECOND) - (due.created - created);
    if (wanted > 0) await due.add(wanted);
    if (performance.now() - told > 10_000) {
      tell(`Left: ${JSON.stringify(await due.left())}`);
      told = performance.now();
    }
    await pause(STEP_MS);
  }
  const tookMs = performance.now() - since;
  return {
    tookMs,
    lagBefore,
    lagSeconds: await due.lagSeconds(),
    left: await due.left(),
    perSecond: ((due.created - created) / tookMs) * 1_000,
  };
}

/** How fast images alone are removed from a store that takes its time. */
async function withSlowStore(stage, history, due, count) {
  const room = await openHistoryRoom({
    databaseUrl: history.url,
    redisUrl: stage.redis.url,
    secretKey: stage.secretKey,
  });
  await due.addImages(count);
  const { images } = await due.left();
  const since = performance.now();
  await new ExpireTasks(room.database, { delete: () => pause(STORE_MS) }, room.logger).run({
    imageRetentionHours: 72,
    taskRetentionHours: 10_000,
  });
  const took = (performance.now() - since) / 1_000;
  await room.close();
  return { count: images, perSecond: images / took };
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

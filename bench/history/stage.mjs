import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '#database/migrate.js';
import { ROOT } from '../stage.mjs';
import { fillHistory } from './fill.mjs';

const TASKS = { quick: 200_000, usual: 4_000_000 };

/** A separate database with a history of `tasks` (or the default number), shared by the measures of one run. */
export async function historyOf(stage, { tasks, quick, tell }) {
  stage.history ??= await fill(stage, tasks ?? (quick ? TASKS.quick : TASKS.usual), tell);
  return stage.history;
}

async function fill(stage, tasks, tell) {
  await stage.pool.query('CREATE DATABASE history');
  const url = Object.assign(new URL(stage.postgres.url), { pathname: '/history' }).href;
  await migrate(url, join(ROOT, 'prisma', 'migrations'));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await fillHistory(client, { tasks }, tell);
  const { rows } = await client.query(
    `SELECT pg_database_size(current_database())::float8 AS bytes, pg_total_relation_size('tasks')::float8 AS of_tasks`,
  );
  await client.end();
  return { url, tasks, bytes: rows[0].bytes, tasksBytes: rows[0].of_tasks };
}

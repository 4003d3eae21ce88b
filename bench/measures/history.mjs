import { megabytes, median, milliseconds, times } from '../figures.mjs';
import { measureStatements } from '../history/measure.mjs';
import { recurring } from '../history/recurring.mjs';
import { openHistoryRoom } from '../history/room.mjs';
import { historyOf } from '../history/stage.mjs';

const GOAL_MS = 50;
/** After five executions, Postgres may keep a generic plan. */
const CALLS = 8;
const ACCOUNT = 'acct_default';
/** In the table; bench/results has all. */
const SHOWN = 10;

export const title = 'Statements on a long history';

/**
 * Every recurring statement, by the classes that run it, on one connection: some run often enough that Postgres may
 * keep their plans. The floor is one row of the same table by its primary key.
 */
export async function measure({ stage, quick, tasks, tell }) {
  const history = await historyOf(stage, { tasks, quick, tell });
  const room = await openHistoryRoom({
    databaseUrl: history.url,
    redisUrl: stage.redis.url,
    secretKey: stage.secretKey,
  });
  try {
    const floorMs = await floorOf(room.database.pool);
    const works = await recurring(room.database, room, { tasks: history.tasks, accountId: ACCOUNT });
    const results = await measureStatements(room.watch, works, CALLS, tell);
    const slowest = results.toSorted((a, b) => b.medianMs - a.medianMs);
    const slow = results.filter(({ medianMs }) => medianMs > GOAL_MS);
    const scanned = results.filter((result) => result.scanned.length > 0);
    const size = `${history.tasks.toLocaleString('en')} tasks, ${megabytes(history.bytes)}, of which ${megabytes(history.tasksBytes)} are tasks and their indexes`;
    return {
      columns: ['work, and its slowest statement', 'median', 'of floor', 'worst', 'rows', 'pages'],
      rows: [
        ['one row by its primary key (floor)', milliseconds(floorMs), times(1), '', 1, 4],
        ...slowest.slice(0, SHOWN).map((result) => rowOf(result, floorMs)),
      ],
      facts: [size, `the ${SHOWN} slowest of ${results.length}; \`bench/results\` has all, with their plans`],
      goals: [
        { text: `median of every statement at most ${GOAL_MS} ms`, value: told(slow, results), met: slow.length === 0 },
        {
          text: 'no Seq Scan of a large table',
          value: told(scanned, results),
          met: scanned.length === 0,
        },
      ],
      raw: { ...history, floorMs, results },
    };
  } finally {
    await room.close();
  }
}

function rowOf({ name, medianMs, worstMs, rows, pages }, floorMs) {
  const figures = [milliseconds(medianMs), times(medianMs / floorMs), milliseconds(worstMs)];
  return [name, ...figures, Math.round(rows), pages];
}

function told(missed, all) {
  return missed.length === 0 ? `all of ${all.length}` : missed.map(({ name }) => name).join(', ');
}

async function floorOf(pool) {
  const { rows } = await pool.query('SELECT id FROM tasks ORDER BY id LIMIT 100');
  const taken = [];
  for (const { id } of rows) {
    const since = performance.now();
    await pool.query({ name: 'floor', text: 'SELECT * FROM tasks WHERE id = $1', values: [id] });
    taken.push(performance.now() - since);
  }
  return median(taken);
}

import pg from 'pg';

interface Statement {
  readonly text: string;
  readonly values?: unknown[] | undefined;
}

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly Plan[];
}

/** What a statement reads of the database. */
export interface Reading {
  readonly text: string;
  /** Pages of 8 kB, of tables and indexes; one that is looked at twice counts twice. */
  readonly pages: number;
  /** Tables that it reads from the first row to the last. */
  readonly scanned: readonly string[];
}

/** The statements that some work sends through any pool of this process, each run once more to see what it reads, without effect. */
export async function readingsOf(pool: pg.Pool, work: () => Promise<unknown>): Promise<Reading[]> {
  const statements = await statementsOf(work);
  const readings: Reading[] = [];
  const client = await pool.connect();
  try {
    for (const { text, values = [] } of statements) {
      await client.query('BEGIN');
      const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
        `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
        values,
      );
      await client.query('ROLLBACK');
      const plan = rows[0]!['QUERY PLAN'][0].Plan;
      const pages = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
      readings.push({ text, pages, scanned: scannedBy(plan) });
    }
  } finally {
    client.release();
  }
  return readings;
}

/** As `pg` is given them: a text with values, or both in an object. */
async function statementsOf(work: () => Promise<unknown>): Promise<Statement[]> {
  const found: Statement[] = [];
  const prototype = pg.Client.prototype as unknown as { query: (...args: unknown[]) => unknown };
  const send = prototype.query;
  prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [first, second] = args as [string | Statement, unknown];
    const { text, values = [] } =
      typeof first === 'string' ? { text: first, values: Array.isArray(second) ? second : [] } : first;
    if (/^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/i.test(text)) found.push({ text, values: [...values] });
    return send.apply(this, args);
  };
  try {
    await work();
  } finally {
    prototype.query = send;
  }
  return found;
}

function scannedBy(plan: Plan): string[] {
  const own = plan['Node Type'] === 'Seq Scan' ? [plan['Relation Name'] ?? ''] : [];
  return [...own, ...(plan.Plans ?? []).flatMap(scannedBy)];
}

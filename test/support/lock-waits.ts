import type pg from 'pg';
import { waitUntil } from '#embedded/wait-until.js';

/** Resolves when a statement of the database, or so many, wait for a lock. Throws after 20 seconds. */
export async function waitForLockWait(pool: pg.Pool, statements = 1): Promise<void> {
  const isWaiting = async (): Promise<boolean> => {
    const { rows } = await pool.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length >= statements;
  };
  if (!(await waitUntil(isWaiting, { timeoutMs: 20_000, everyMs: 50 })))
    throw new Error('too few statements wait for a lock');
}

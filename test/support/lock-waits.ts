import type pg from 'pg';
import { waitUntil } from '#embedded/wait-until.js';

/** Resolves when a statement of the database waits for a lock. Throws after 20 seconds. */
export async function waitForLockWait(pool: pg.Pool): Promise<void> {
  const isWaiting = async (): Promise<boolean> => {
    const { rows } = await pool.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length > 0;
  };
  if (!(await waitUntil(isWaiting, { timeoutMs: 20_000, everyMs: 50 })))
    throw new Error('no statement waits for a lock');
}

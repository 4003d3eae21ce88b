import { setTimeout as delay } from 'node:timers/promises';
import { isDatabaseAway } from '#database/database-errors.js';

const PATIENCE_MS = 50_000;

/**
 * Makes a call again, as clients do, while the database does not answer in time: of fifty that want one row, the last
 * on a slow machine wait longer for its lock than the product lets them. Throws what else the call throws.
 */
export async function retried<T>(call: () => Promise<T>): Promise<T> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isDatabaseAway(error) || performance.now() > end) throw error;
      await delay(50);
    }
  }
}

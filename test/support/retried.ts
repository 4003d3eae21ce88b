import { setTimeout as delay } from 'node:timers/promises';
import { isDatabaseUnavailable } from '#database/database-errors.js';
import { patient } from './patience.js';

const PATIENCE_MS = patient(50_000);

/**
 * Repeats a call, like clients do, while the database times out: if fifty calls need one row, the last ones on a slow
 * machine wait longer for its lock than the product allows. Throws all other errors of the call.
 */
export async function retried<T>(call: () => Promise<T>): Promise<T> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isDatabaseUnavailable(error) || performance.now() > end) throw error;
      await delay(50);
    }
  }
}

import type pg from 'pg';

/** How much stands in a history. */
export interface HistorySize {
  readonly tasks: number;
  readonly keys?: number;
  /** Has three quarters of the tasks. */
  readonly accountId?: string;
}

/** Fills a migrated database without tasks by one connection of its owner; `tell` hears how long each step took. */
export function fillHistory(
  client: pg.Client | pg.PoolClient,
  size: HistorySize,
  tell?: (line: string) => void,
): Promise<void>;

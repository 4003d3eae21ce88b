import type pg from 'pg';

/** The size of a history. */
export interface HistorySize {
  readonly tasks: number;
  readonly keys?: number;
  /** Gets three quarters of the tasks. */
  readonly accountId?: string;
}

/** Fills a migrated database without tasks, over one connection of its owner; `tell` gets the duration of each step. */
export function fillHistory(
  client: pg.Client | pg.PoolClient,
  size: HistorySize,
  tell?: (line: string) => void,
): Promise<void>;

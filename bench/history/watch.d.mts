import type pg from 'pg';

/** A step of a plan that was run. */
export interface PlanNode {
  /** As Postgres calls it: Seq Scan, Index Scan ... */
  readonly node: string;
  readonly table?: string;
  readonly index?: string;
  /** That were looked at. */
  readonly rows: number;
}

/** What a statement read of the database. */
export interface Reading {
  readonly text: string;
  /** Pages of 8 kB, of tables and indexes; one that is looked at twice counts twice. */
  readonly pages: number;
  /** Of the step that looked at most. */
  readonly rows: number;
  readonly nodes: readonly PlanNode[];
}

/** Follows the statements of a pool of one connection that has not been used yet. */
export class StatementWatch {
  constructor(pool: pg.Pool);
  readings(work: () => Promise<unknown>): Promise<Reading[]>;
  times(work: () => Promise<unknown>): Promise<{ readonly text: string; readonly ms: number }[]>;
}

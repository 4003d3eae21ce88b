import type pg from 'pg';

/** An executed node of a plan. */
export interface PlanNode {
  /** Postgres' name: Seq Scan, Index Scan ... */
  readonly node: string;
  readonly table?: string;
  readonly index?: string;
  /** Rows read. */
  readonly rows: number;
}

/** What a statement read from the database. */
export interface Reading {
  readonly text: string;
  /** Pages of 8 kB, of tables and indexes; a page read twice counts twice. */
  readonly pages: number;
  /** Of the node that read most. */
  readonly rows: number;
  readonly nodes: readonly PlanNode[];
}

/** Watches the statements of a pool with one connection that has not been used yet. */
export class StatementWatch {
  constructor(pool: pg.Pool);
  readings(work: () => Promise<unknown>): Promise<Reading[]>;
  times(work: () => Promise<unknown>): Promise<{ readonly text: string; readonly ms: number }[]>;
}

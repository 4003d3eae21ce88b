import type pg from 'pg';

/** Injection token of the process's pool, for classes that the operator's commands make of a pool of their own. */
export const POOL = Symbol('pool');

/** A pool, or a connection of one: all that rooms need which run in processes and in commands alike. */
export type Queryable = Pick<pg.Pool, 'query'>;

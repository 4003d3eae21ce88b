import type pg from 'pg';

/** A pool, or a connection of one: all that rooms need which run in processes and in commands alike. */
export type Queryable = Pick<pg.Pool, 'query'>;

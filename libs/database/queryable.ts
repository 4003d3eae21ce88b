import type pg from 'pg';
import type { Prisma } from './generated/client.js';

/** A pool, or a connection of one: all that rooms need which run in processes and in commands alike. */
export type Queryable = Pick<pg.Pool, 'query'>;

/** What Prisma hands to the work of a transaction; Prisma itself will do in its place. */
export type Transaction = Prisma.TransactionClient;

import { Prisma } from './generated/client.js';

/** What a filter by a path of a JSON column equals where the path leads to nothing. */
export const NOT_THERE = Prisma.DbNull;

import { Module } from '@nestjs/common';
import { Database } from './database.js';
import { POOL } from './queryable.js';

const pool = { provide: POOL, inject: [Database], useFactory: ({ pool: ours }: Database) => ours };

/** Among the last rooms to close, since Nest stops a module before those that it imports: queue and tasks still write while they stop. */
@Module({ providers: [Database, pool], exports: [Database, pool] })
export class DatabaseModule {}

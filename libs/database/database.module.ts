import { Module } from '@nestjs/common';
import { Database } from './database.js';

/** Among the last rooms to close, since Nest stops a module before those that it imports: queue and tasks still write while they stop. */
@Module({ providers: [Database], exports: [Database] })
export class DatabaseModule {}

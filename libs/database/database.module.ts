import { Module } from '@nestjs/common';
import { PrismaService } from './prisma.service.js';
import { POOL } from './queryable.js';

const pool = { provide: POOL, inject: [PrismaService], useFactory: ({ pool: ours }: PrismaService) => ours };

/** Among the last rooms to close, since Nest stops a module before those that it imports: queue and tasks still write while they stop. */
@Module({ providers: [PrismaService, pool], exports: [PrismaService, pool] })
export class DatabaseModule {}

import { Module } from '@nestjs/common';
import { DatabaseGauges } from './database-gauges.js';
import { PrismaService } from './prisma.service.js';

/** Among the last rooms to close, since Nest stops a module before those that it imports: queue and tasks still write while they stop. */
@Module({ providers: [PrismaService, DatabaseGauges], exports: [PrismaService] })
export class DatabaseModule {}

import { Module } from '@nestjs/common';
import { DatabaseGauges } from './database-gauges.js';
import { PrismaService } from './prisma.service.js';

/**
 * One of the last modules to close, because Nest stops a module before its imports: queue and tasks still write while
 * they stop.
 */
@Module({ providers: [PrismaService, DatabaseGauges], exports: [PrismaService] })
export class DatabaseModule {}

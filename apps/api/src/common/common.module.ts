import { Module } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { AccessWatch } from './access-watch.js';
import { ContractPipe } from './contract.pipe.js';
import { Draining } from './draining.js';
import { ErrorFilter } from './error.filter.js';
import { EventStreams } from './events/event-streams.js';
import { BodyMemory } from './fastify/body-memory.js';
import { ConnectionCap } from './fastify/connection-cap.js';
import { OpenCalls } from './open-calls.js';

/** What all requests share: validation, the error body, the memory for bodies, and a clean shutdown. */
@Module({
  providers: [
    { provide: APP_FILTER, useClass: ErrorFilter },
    { provide: APP_PIPE, useClass: ContractPipe },
    AccessWatch,
    BodyMemory,
    ConnectionCap,
    Draining,
    EventStreams,
    OpenCalls,
  ],
  exports: [AccessWatch, BodyMemory, Draining, EventStreams, OpenCalls],
})
export class CommonModule {}

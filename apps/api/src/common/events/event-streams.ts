import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ApiConfig } from '../api.config.js';
import { EventStream } from './event-stream.js';
import { BodyReservation, BodyMemory } from '../fastify/body-memory.js';
import { sourceOf } from '../source-of.js';

/**
 * Creates event streams. Partial images for slow readers count in the memory for bodies, so that no number of readers
 * exceeds it.
 */
@Injectable()
export class EventStreams {
  constructor(
    private readonly config: ApiConfig,
    private readonly memory: BodyMemory,
  ) {}

  /** `onClose` as in EventStream. */
  begin(request: FastifyRequest, onClose?: () => void): EventStream {
    return new EventStream(this.config.streamPingMs, onClose, new BodyReservation(this.memory, sourceOf(request)));
  }
}

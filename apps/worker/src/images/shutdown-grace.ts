import { Injectable } from '@nestjs/common';
import { WorkerConfig } from '../worker.config.js';
import { ProviderRegistry } from './provider-registry.js';

/** For finishing and storing an image that arrives in the last moment of its provider's time. */
const FINISH_MS = 30_000;

/** How long a stopping worker waits for what is in hand: a call that may be paid gets the time that its provider has. */
@Injectable()
export class ShutdownGrace {
  constructor(
    private readonly config: WorkerConfig,
    private readonly providers: ProviderRegistry,
  ) {}

  /** By the catalog in force when it is asked for, unless the settings say otherwise. */
  get ms(): number {
    return this.config.shutdownGraceMs ?? this.providers.longestCallMs() + FINISH_MS;
  }
}

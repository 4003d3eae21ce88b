import { Injectable } from '@nestjs/common';
import { graceFor, graceProblem } from '#providers/descriptors.js';
import { WorkerConfig } from '../worker.config.js';
import { ProviderRegistry } from './provider-registry.js';

/** How long a stopping worker waits for what is in hand. */
@Injectable()
export class ShutdownGrace {
  constructor(
    private readonly config: WorkerConfig,
    private readonly providers: ProviderRegistry,
  ) {}

  /** By the catalog in force when it is asked for, unless the settings say otherwise. */
  get ms(): number {
    return this.config.shutdownGraceMs ?? graceFor(this.providers.longestCall());
  }

  /** What the settings cut off of the catalog in force, as a sentence; undefined when nothing. */
  get problem(): string | undefined {
    return graceProblem(this.ms, this.providers.longestCall());
  }
}

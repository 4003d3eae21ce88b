import { Injectable } from '@nestjs/common';
import { graceFor, graceProblem } from '#providers/descriptors.js';
import { WorkerConfig } from '../worker.config.js';
import { ProviderRegistry } from './provider-registry.js';

/** How long a stopping worker waits for its running tasks. */
@Injectable()
export class ShutdownGrace {
  constructor(
    private readonly config: WorkerConfig,
    private readonly providers: ProviderRegistry,
  ) {}

  /** The configured time, or else the time that the current catalog needs. */
  get ms(): number {
    return this.config.shutdownGraceMs ?? graceFor(this.providers.longestCall());
  }

  /** Says which calls of the current catalog the configured time would cut off; undefined when none. */
  get problem(): string | undefined {
    return graceProblem(this.ms, this.providers.longestCall());
  }
}

import { randomUUID } from 'node:crypto';
import { Injectable, Optional } from '@nestjs/common';
import { WorkerConfig } from '../worker.config.js';
import { Leases } from './leases.js';

/** This process among the workers. */
@Injectable()
export class ThisWorker {
  constructor(
    private readonly config: WorkerConfig,
    private readonly leases: Leases,
    /** For tests that tell workers apart. */
    @Optional() readonly id: string = randomUUID(),
  ) {}

  /** Tasks it has in hand at most. */
  get slots(): number {
    return this.config.concurrency;
  }

  /** Tasks it has in hand now. */
  get running(): number {
    return this.leases.size;
  }
}

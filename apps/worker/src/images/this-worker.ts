import { randomUUID } from 'node:crypto';
import { Injectable, Optional } from '@nestjs/common';
import { WorkerConfig } from '../worker.config.js';
import { Leases } from './leases.js';

/** This worker's id and load. */
@Injectable()
export class ThisWorker {
  constructor(
    private readonly config: WorkerConfig,
    private readonly leases: Leases,
    /** Set by tests to tell workers apart. */
    @Optional() readonly id: string = randomUUID(),
  ) {}

  /** Maximum number of running tasks. */
  get slots(): number {
    return this.config.concurrency;
  }

  /** Number of running tasks. */
  get running(): number {
    return this.leases.size;
  }
}

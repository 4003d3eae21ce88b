import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Metrics } from '#telemetry/metrics.js';
import { ThisWorker } from './this-worker.js';

/** The load of this worker, read at each scrape. */
@Injectable()
export class WorkerGauges implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly worker: ThisWorker,
  ) {}

  onModuleInit(): void {
    this.metrics.gauge('worker_slots', 'Tasks this worker has in hand at most.', () => this.worker.slots);
    this.metrics.gauge('worker_tasks', 'Tasks this worker has in hand.', () => this.worker.running);
  }
}

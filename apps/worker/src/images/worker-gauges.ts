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
    this.metrics.gauge(
      'worker_slots',
      'Maximum number of tasks this worker processes at once.',
      () => this.worker.slots,
    );
    this.metrics.gauge('worker_tasks', 'Tasks this worker is processing.', () => this.worker.running);
  }
}

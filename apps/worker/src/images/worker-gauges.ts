import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Metrics } from '#telemetry/metrics.js';
import { TaskMemory } from './task-memory.js';
import { ThisWorker } from './this-worker.js';

/** The load of this worker, read at each scrape. */
@Injectable()
export class WorkerGauges implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly worker: ThisWorker,
    private readonly memory: TaskMemory,
  ) {}

  onModuleInit(): void {
    this.metrics.gauge(
      'worker_slots',
      'Maximum number of tasks this worker processes at once.',
      () => this.worker.slots,
    );
    this.metrics.gauge('worker_tasks', 'Tasks this worker is processing.', () => this.worker.running);
    const { bytes, decoded } = this.memory;
    this.metrics.gauge('worker_image_bytes', 'Bytes of inputs and results this worker holds.', () => bytes.held);
    this.metrics.gauge('worker_image_bytes_limit', 'IMAGE_MEMORY of this worker.', () => bytes.limit);
    this.metrics.gauge('worker_decoded_pixels', 'Pixels of references this worker decodes.', () => decoded.held);
    this.metrics.gauge(
      'worker_tasks_without_memory',
      'Tasks in the queue that found no memory free for their account at this worker.',
      () => this.memory.waitingTasks,
    );
  }
}

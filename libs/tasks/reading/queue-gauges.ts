import { Injectable, type OnModuleInit } from '@nestjs/common';
import { QueueHealth } from '#queue/queue-health.js';
import { QueueLine } from '#queue/queue-line.js';
import { ServiceTimes } from '#queue/service-times.js';
import { Metrics } from '#telemetry/metrics.js';
import { QueueWait } from './queue-wait.js';
import { TaskFigures } from './task-figures.js';

/** Metrics of the queue that all processes share, read at each scrape. */
@Injectable()
export class QueueGauges implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly line: QueueLine,
    private readonly health: QueueHealth,
    private readonly wait: QueueWait,
    private readonly figures: TaskFigures,
    private readonly times: ServiceTimes,
  ) {}

  onModuleInit(): void {
    this.metrics.gauges('queue_jobs', 'Jobs in the queue, by state; the same on every process.', 'state', async () => ({
      ...(await this.line.depths()),
    }));
    this.metrics.gauges(
      'queue_oldest_waiting_seconds',
      'Age of the oldest task waiting to start; the same on every process.',
      'phase',
      async () => ({ queued: await this.figures.oldestWaitingSeconds() }),
    );
    this.metrics.gauge(
      'predicted_wait_seconds',
      'Estimated wait of a task added to the end of the queue now; the same on every process.',
      async () => await this.wait.predictedSeconds(),
    );
    this.metrics.gauges('workers', 'Running workers; the same on every process.', 'state', async () => ({
      alive: (await this.times.workers()).length,
    }));
    this.metrics.gauge('redis_accepting', 'Whether Redis accepts jobs from this process (1) or not (0).', () =>
      this.health.accepting ? 1 : 0,
    );
  }
}

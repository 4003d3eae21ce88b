import { Injectable, type OnModuleInit } from '@nestjs/common';
import { QueueHealth } from '#queue/queue-health.js';
import { QueueLine } from '#queue/queue-line.js';
import { ServiceTimes } from '#queue/service-times.js';
import { Metrics } from '#telemetry/metrics.js';
import { QueueWait } from './queue-wait.js';

/** Metrics of the queue that all processes share, read at each scrape. */
@Injectable()
export class QueueGauges implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly line: QueueLine,
    private readonly health: QueueHealth,
    private readonly wait: QueueWait,
    private readonly times: ServiceTimes,
  ) {}

  onModuleInit(): void {
    this.metrics.gauges('queue_jobs', 'Jobs in the queue by state; the same at every process.', 'state', async () => ({
      ...(await this.line.depths()),
    }));
    this.metrics.gauges(
      'queue_oldest_waiting_seconds',
      'Age of the oldest task that waits to be started; the same at every process.',
      'phase',
      async () => ({ queued: await this.wait.measuredSeconds() }),
    );
    this.metrics.gauge(
      'predicted_wait_seconds',
      'Seconds until a task behind everything that waits now would start; the same at every process.',
      async () => await this.wait.predictedSeconds(),
    );
    this.metrics.gauges('workers', 'Workers that take tasks; the same at every process.', 'state', async () => ({
      alive: (await this.times.workers()).length,
    }));
    this.metrics.gauge('redis_accepting', 'Whether Redis takes work of this process (1) or not (0).', () =>
      this.health.accepting ? 1 : 0,
    );
  }
}

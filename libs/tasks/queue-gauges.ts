import type { Database } from '#database/database.js';
import type { QueueHealth } from '#queue/queue-health.js';
import type { QueueLine } from '#queue/queue-line.js';
import type { ServiceTimes } from '#queue/service-times.js';
import type { Metrics } from '#telemetry/metrics.js';
import { oldestWaitingSeconds } from './queue-figures.js';

/** What every process can tell of the queue they share, read at each scrape. */
export function watchQueue(
  metrics: Metrics,
  line: QueueLine,
  health: QueueHealth,
  database: Database,
  times: ServiceTimes,
): void {
  metrics.gauges('queue_jobs', 'Jobs in the queue by state; the same at every process.', 'state', async () => ({
    ...(await line.depths()),
  }));
  metrics.gauges(
    'queue_oldest_waiting_seconds',
    'Age of the oldest task that waits to be started; the same at every process.',
    'phase',
    async () => ({ queued: await oldestWaitingSeconds(database.pool) }),
  );
  metrics.gauges('workers', 'Workers that take tasks; the same at every process.', 'state', async () => ({
    alive: (await times.workers()).length,
  }));
  metrics.gauge('redis_accepting', 'Whether Redis takes work of this process (1) or not (0).', () =>
    health.accepting ? 1 : 0,
  );
}

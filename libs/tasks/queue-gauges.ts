import type { Database } from '#database/database.js';
import type { QueueHealth } from '#queue/queue-health.js';
import type { QueueLine } from '#queue/queue-line.js';
import type { Metrics } from '#telemetry/metrics.js';

const OLDEST = {
  name: 'oldest_waiting',
  text: `SELECT EXTRACT(EPOCH FROM now() - created_at)::float8 AS seconds FROM tasks
    WHERE finished_at IS NULL AND phase = 'queued' ORDER BY id LIMIT 1`,
};

/** What every process can tell of the queue they share, read at each scrape. */
export function watchQueue(metrics: Metrics, line: QueueLine, health: QueueHealth, database: Database): void {
  metrics.gauges('queue_jobs', 'Jobs in the queue by state; the same at every process.', 'state', async () => ({
    ...(await line.depths()),
  }));
  metrics.gauges(
    'queue_oldest_waiting_seconds',
    'Age of the oldest task that waits to be started; the same at every process.',
    'phase',
    async () => {
      const { rows } = await database.pool.query<{ seconds: number }>(OLDEST);
      return { queued: rows[0]?.seconds ?? 0 };
    },
  );
  metrics.gauge('redis_accepting', 'Whether Redis takes work of this process (1) or not (0).', () =>
    health.accepting ? 1 : 0,
  );
}

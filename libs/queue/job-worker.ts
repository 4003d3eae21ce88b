import type { Worker } from 'bullmq';
import type { Logger } from '#telemetry/logger.js';

/**
 * For every worker of ours. The row decides everything, so a job that comes twice does no harm; BullMQ's lock only
 * brings a dead worker's jobs back early, and its limit on that must never end one.
 */
export const JOB_WORKER_OPTIONS = {
  autorun: false,
  lockDuration: 20_000,
  stalledInterval: 5_000,
  maxStalledCount: 1_000,
  runRetryDelay: 1_000,
  drainDelay: 5,
  removeOnComplete: { count: 0 },
  removeOnFail: { count: 0 },
} as const;

/** Begins to take jobs, so many at a time. */
export function runJobs(worker: Worker, concurrency: number, logger: Logger): void {
  worker.concurrency = concurrency;
  worker.on('error', (error) => logger.warn('queue.error', { error }));
  worker.run().catch((error: unknown) => logger.error('queue.stopped', { error }));
}

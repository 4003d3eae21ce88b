import { WorkerHost } from '@nestjs/bullmq';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { Worker } from 'bullmq';
import type { Logger } from '#telemetry/logger.js';
import { QUEUE_OF_JOB, type JobName } from './job-catalog.js';

/** Declares which job of the catalog a processor handles. */
export const HandlesJob = DiscoveryService.createDecorator<JobName>();

/** Refuses to start a worker unless each job has exactly one handler. */
@Injectable()
export class JobHandlers implements OnModuleInit {
  constructor(private readonly discovery: DiscoveryService) {}

  /** Runs before any job is taken. Throws, naming every job that does not have exactly one handler on its queue. */
  onModuleInit(): void {
    const problems = Object.entries(QUEUE_OF_JOB).flatMap(([job, queue]) => {
      const served = this.queuesServing(job);
      if (served.length !== 1) return [`the job ${job} has ${served.length} handlers, not one`];
      return served[0] === queue ? [] : [`the handler of ${job} does not serve the queue ${queue}`];
    });
    if (problems.length > 0) throw new Error(problems.join('; '));
  }

  /** The queue of each processor that handles the job. */
  private queuesServing(job: string): string[] {
    return this.discovery
      .getProviders({ metadataKey: HandlesJob.KEY })
      .filter((provider) => this.discovery.getMetadataByDecorator(HandlesJob, provider) === job)
      .map(({ instance }) => instance as unknown)
      .filter(isProcessor)
      .map(({ worker }) => worker.name);
  }
}

function isProcessor(instance: unknown): instance is WorkerHost {
  return instance instanceof WorkerHost;
}

/**
 * Options for all our workers. The row decides everything, so a job that runs twice does no harm; BullMQ's lock only
 * brings a dead worker's jobs back early, and its limit on how often (maxStalledCount) must never end one.
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

/** Starts taking jobs, up to `concurrency` at a time. */
export function runJobs(worker: Worker, concurrency: number, logger: Logger): void {
  worker.concurrency = concurrency;
  worker.run().catch((error: unknown) => logger.error('queue.stopped', { error }));
}

/** How long an error is not repeated in the log. */
const QUIET_MS = 30_000;

/** Tells which errors of a BullMQ worker to log: while Redis is away, it emits the same ones with every try. */
export class QueueErrors {
  /** When each message was last logged, by performance.now(). */
  private readonly logged = new Map<string, number>();

  /** True once per message and 30 s. */
  isNew({ message }: Error): boolean {
    const now = performance.now();
    for (const [old, at] of this.logged) if (now - at >= QUIET_MS) this.logged.delete(old);
    if (this.logged.has(message)) return false;
    this.logged.set(message, now);
    return true;
  }
}

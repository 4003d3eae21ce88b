import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { Job } from 'bullmq';
import { CREATE_THUMBNAIL, parseCreateThumbnail, THUMBNAIL_QUEUE } from '#queue/job-catalog.js';
import { HandlesJob, JOB_WORKER_OPTIONS, QueueErrors, runJobs } from '#queue/job-handlers.js';
import { Logger } from '#telemetry/logger.js';
import { CreateThumbnail } from './create-thumbnail.js';

/** An image that ended its worker twice is not decoded a third time. */
const WORKER_OPTIONS = { ...JOB_WORKER_OPTIONS, stalledInterval: 30_000, maxStalledCount: 1 } as const;

/** Creates thumbnails beside the tasks, one at a time: each holds an image in memory. */
@Processor(THUMBNAIL_QUEUE, WORKER_OPTIONS)
@HandlesJob(CREATE_THUMBNAIL)
export class ThumbnailProcessor extends WorkerHost implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly errors = new QueueErrors();
  private readonly stop = new AbortController();

  constructor(
    private readonly createThumbnail: CreateThumbnail,
    private readonly logger: Logger,
  ) {
    super();
  }

  onApplicationBootstrap(): void {
    runJobs(this.worker, 1, this.logger);
  }

  /** Also before `runJobs`: BullMQ prints errors that nothing listens for to stderr. */
  @OnWorkerEvent('error')
  warn(error: Error): void {
    if (this.errors.isNew(error)) this.logger.warn('queue.error', { error });
  }

  async process(job: Job<unknown>): Promise<void> {
    await this.createThumbnail.run(parseCreateThumbnail(job.data).taskId, this.stop.signal);
  }

  /** Nobody depends on the running one, so a stopping worker does not wait for it. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stop.abort(new Error('the worker is stopping'));
    await this.worker.close();
  }
}

import { Processor, WorkerHost } from '@nestjs/bullmq';
import { Inject, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { DelayedError, type Job } from 'bullmq';
import { ImageQueue } from '#queue/image-queue.js';
import { IMAGE_QUEUE, parseRunImageTask } from '#queue/job-catalog.js';
import { JOB_WORKER_OPTIONS, runJobs } from '#queue/job-worker.js';
import { Logger } from '#telemetry/logger.js';
import { Holds } from './hold.js';
import { RunImageTask } from './run-image-task.js';
import { WorkerConfig } from './worker.config.js';

/** How long a job waits when the database did not answer. */
const DATABASE_RETRY_MS = 1_000;

/** Takes jobs of pictures off the queue. */
@Processor(IMAGE_QUEUE, JOB_WORKER_OPTIONS)
export class ImageProcessor extends WorkerHost implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    @Inject(RunImageTask) private readonly tasks: RunImageTask,
    @Inject(Holds) private readonly holds: Holds,
    @Inject(WorkerConfig) private readonly config: WorkerConfig,
    @Inject(ImageQueue) private readonly queue: ImageQueue,
    @Inject(Logger) private readonly logger: Logger,
  ) {
    super();
  }

  onApplicationBootstrap(): void {
    runJobs(this.worker, this.config.concurrency, this.logger);
  }

  async process(job: Job<unknown>, token?: string): Promise<void> {
    const { taskId } = parseRunImageTask(job.data);
    // The order is only a little less fair when this does not reach Redis.
    if (job.opts.priority !== undefined) this.queue.started(job.opts.priority).catch(() => undefined);
    try {
      await this.tasks.run(taskId);
    } catch (error) {
      // Only the database can be at fault here. The job must not be lost over it.
      this.logger.warn('task.not_run', { taskId, error });
      await job.moveToDelayed(Date.now() + DATABASE_RETRY_MS, token);
      throw new DelayedError();
    }
  }

  /** Takes no more jobs, lets those in hand finish for the grace time, then gives the rest back. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.worker.pause(true);
    const grace = setTimeout(() => {
      this.holds.abortAll();
    }, this.config.shutdownGraceMs);
    await this.worker.close();
    clearTimeout(grace);
    this.holds.close();
  }
}

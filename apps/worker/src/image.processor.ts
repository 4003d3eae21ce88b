import { Processor, WorkerHost } from '@nestjs/bullmq';
import { Inject, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { DelayedError, type Job } from 'bullmq';
import { ImageQueue } from '#queue/image-queue.js';
import { IMAGE_QUEUE, parseRunImageTask } from '#queue/job-catalog.js';
import { Logger } from '#telemetry/logger.js';
import { Holds } from './hold.js';
import { RunImageTask } from './run-image-task.js';
import { WorkerConfig } from './worker.config.js';

/** How long a job waits when the database did not answer. */
const DATABASE_RETRY_MS = 1_000;

/**
 * Takes jobs off the queue. The row decides everything, so a job that comes twice does no harm;
 * BullMQ's lock only brings a dead worker's jobs back early, and its limit on that must never end a task.
 */
@Processor(IMAGE_QUEUE, {
  autorun: false,
  lockDuration: 20_000,
  stalledInterval: 5_000,
  maxStalledCount: 1_000,
  runRetryDelay: 1_000,
  drainDelay: 5,
  removeOnComplete: { count: 0 },
  removeOnFail: { count: 0 },
})
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
    this.worker.concurrency = this.config.concurrency;
    this.worker.on('error', (error) => {
      this.logger.warn('queue.error', { error });
    });
    this.worker.run().catch((error: unknown) => {
      this.logger.error('queue.stopped', { error });
    });
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

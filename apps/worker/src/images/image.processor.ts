import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { DelayedError, type Job } from 'bullmq';
import { FIRST_PRIORITY, type NextTask } from '#queue/fair-order.js';
import { ImageQueue } from '#queue/image-queue.js';
import { IMAGE_QUEUE, imageJobId, parseRunImageTask, RUN_IMAGE_TASK, taskIdOf } from '#queue/job-catalog.js';
import { HandlesJob, JOB_WORKER_OPTIONS, QueueErrors, runJobs } from '#queue/job-handlers.js';
import { Logger } from '#telemetry/logger.js';
import { Leases } from './leases.js';
import { RunImageTask } from './run-image-task.js';
import { WorkerConfig } from '../worker.config.js';

/** Retry delay of a job when the database did not answer. */
const DATABASE_RETRY_MS = 1_000;

/** Runs image jobs from the queue. */
@Processor(IMAGE_QUEUE, JOB_WORKER_OPTIONS)
@HandlesJob(RUN_IMAGE_TASK)
export class ImageProcessor extends WorkerHost implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly errors = new QueueErrors();

  constructor(
    private readonly tasks: RunImageTask,
    private readonly leases: Leases,
    private readonly config: WorkerConfig,
    private readonly queue: ImageQueue,
    private readonly logger: Logger,
  ) {
    super();
  }

  onApplicationBootstrap(): void {
    runJobs(this.worker, this.config.concurrency, this.logger);
  }

  /** Also before `runJobs`: BullMQ prints errors that nothing listens for to stderr. */
  @OnWorkerEvent('error')
  warn(error: Error): void {
    if (this.errors.isNew(error)) this.logger.warn('queue.error', { error });
  }

  async process(job: Job<unknown>, token?: string): Promise<void> {
    const { taskId } = parseRunImageTask(job.data);
    const jobId = job.id ?? imageJobId(taskId, 0);
    // Without Redis, the order is only slightly less fair.
    let next = await this.queue.started(jobId).catch((): NextTask => ({ id: jobId }));
    while (next !== undefined) {
      if (await this.run(job, next, token)) return;
      // The task has already ended, so the next task of its account takes its place.
      next = await this.queue.nextAfter(next).catch(() => undefined);
    }
  }

  /** False when the task needs no work. Throws DelayedError when the job must be retried. */
  private async run(job: Job<unknown>, next: NextTask, token: string | undefined): Promise<boolean> {
    const taskId = taskIdOf(next.id);
    try {
      // A job may run another task than the one it was added for; then its timestamp does not apply.
      return await this.tasks.run(taskId, job.id === next.id ? job.timestamp : undefined);
    } catch (error) {
      // Only the database can have failed here, and the job must survive that.
      this.logger.warn('task.not_run', { taskId, error });
      await this.queue.putBack(job.id ?? next.id, next);
      await job.changePriority({ priority: FIRST_PRIORITY });
      await job.moveToDelayed(Date.now() + DATABASE_RETRY_MS, token);
      throw new DelayedError();
    }
  }

  /** Stops taking jobs, lets running jobs finish within the grace time, then returns the rest to the queue. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.worker.pause(true);
    const cancelAbort = this.leases.abortAfterGrace();
    await this.worker.close();
    cancelAbort();
    this.leases.close();
  }
}

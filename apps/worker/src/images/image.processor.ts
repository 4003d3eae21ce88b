import { Processor, WorkerHost } from '@nestjs/bullmq';
import { type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { DelayedError, type Job } from 'bullmq';
import { FIRST_PRIORITY, type NextTask } from '#queue/fair-order.js';
import { ImageQueue } from '#queue/image-queue.js';
import { IMAGE_QUEUE, imageJobId, parseRunImageTask, RUN_IMAGE_TASK, taskIdOf } from '#queue/job-catalog.js';
import { HandlesJob, JOB_WORKER_OPTIONS, runJobs } from '#queue/job-handlers.js';
import { Logger } from '#telemetry/logger.js';
import { Leases } from './leases.js';
import { RunImageTask } from './run-image-task.js';
import { WorkerConfig } from '../worker.config.js';

/** How long a job waits when the database did not answer. */
const DATABASE_RETRY_MS = 1_000;

/** Takes jobs of images off the queue. */
@Processor(IMAGE_QUEUE, JOB_WORKER_OPTIONS)
@HandlesJob(RUN_IMAGE_TASK)
export class ImageProcessor extends WorkerHost implements OnApplicationBootstrap, BeforeApplicationShutdown {
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

  async process(job: Job<unknown>, token?: string): Promise<void> {
    const { taskId } = parseRunImageTask(job.data);
    const jobId = job.id ?? imageJobId(taskId, 0);
    // The order is only a little less fair when Redis can't be asked.
    let next = await this.queue.started(jobId).catch((): NextTask => ({ id: jobId }));
    while (next !== undefined) {
      if (await this.run(job, next, token)) return;
      // What has ended in line leaves its account's turn to the next.
      next = await this.queue.nextAfter(next).catch(() => undefined);
    }
  }

  /** False when nobody needs the task any more. Throws DelayedError when the job is to come again. */
  private async run(job: Job<unknown>, next: NextTask, token: string | undefined): Promise<boolean> {
    const taskId = taskIdOf(next.id);
    try {
      // Of a job that runs another task than it was added for, the time says nothing.
      return await this.tasks.run(taskId, job.id === next.id ? job.timestamp : undefined);
    } catch (error) {
      // Only the database can be at fault here. The job must not be lost over it.
      this.logger.warn('task.not_run', { taskId, error });
      await this.queue.putBack(job.id ?? next.id, next);
      await job.changePriority({ priority: FIRST_PRIORITY });
      await job.moveToDelayed(Date.now() + DATABASE_RETRY_MS, token);
      throw new DelayedError();
    }
  }

  /** Takes no more jobs, lets those in hand finish for the grace time, then gives the rest back. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.worker.pause(true);
    const callOff = this.leases.abortAfterGrace();
    await this.worker.close();
    callOff();
    this.leases.close();
  }
}

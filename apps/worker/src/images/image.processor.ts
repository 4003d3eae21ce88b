import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { Inject, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { DelayedError, type Job } from 'bullmq';
import type { Redis } from 'ioredis';
import { FairOrder, type NextTask } from '#queue/fair-order.js';
import { FIRST_PRIORITY } from '#queue/fair-scripts.js';
import { IMAGE_QUEUE, parseRunImageTask, RUN_IMAGE_TASK, taskIdOf } from '#queue/job-catalog.js';
import { HandlesJob, JOB_WORKER_OPTIONS, QueueErrors, runJobs } from '#queue/job-handlers.js';
import { JOBS_REDIS } from '#redis/redis.module.js';
import { Logger } from '#telemetry/logger.js';
import { Leases } from './leases.js';
import { RunTask } from './run-task.js';
import { WorkerConfig } from '../worker.config.js';

/** Retry delay of a job when the database did not answer. */
const DATABASE_RETRY_MS = 1_000;

/** Runs image jobs from the queue. */
@Processor(IMAGE_QUEUE, JOB_WORKER_OPTIONS)
@HandlesJob(RUN_IMAGE_TASK)
export class ImageProcessor extends WorkerHost implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly errors = new QueueErrors();
  /** The task to run for each job that BullMQ has handed out. */
  private readonly next = new WeakMap<Job, Promise<NextTask | undefined>>();

  constructor(
    private readonly tasks: RunTask,
    private readonly leases: Leases,
    private readonly config: WorkerConfig,
    private readonly order: FairOrder,
    @Inject(JOBS_REDIS) private readonly jobs: Redis,
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

  /**
   * Asks for the task at once and over BullMQ's own connection, so that the command is sent together with BullMQ's next
   * one: it looks for another job before it runs this one.
   */
  @OnWorkerEvent('active')
  taken(job: Job): void {
    this.next.set(job, this.taskOf(job));
  }

  async process(job: Job<unknown>, token?: string): Promise<void> {
    parseRunImageTask(job.data);
    let next = await (this.next.get(job) ?? this.taskOf(job));
    while (next !== undefined) {
      if (await this.run(job, next, token)) return;
      // The task has already ended, so the next task of its account takes its place.
      next = await this.order.nextAfter(next).catch(() => undefined);
    }
  }

  private async taskOf({ id = '' }: Job): Promise<NextTask | undefined> {
    // Without Redis, the order is only slightly less fair.
    return this.order.served(id, this.jobs).catch((): NextTask => ({ id }));
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
      await this.order.putBack(job.id ?? next.id, next);
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

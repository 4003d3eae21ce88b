import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { DelayedError, type Job } from 'bullmq';
import { DELIVER_WEBHOOK, parseDeliverWebhook, WEBHOOK_QUEUE } from '#queue/job-catalog.js';
import { HandlesJob, JOB_WORKER_OPTIONS, QueueErrors, runJobs } from '#queue/job-handlers.js';
import { Logger } from '#telemetry/logger.js';
import { DeliverWebhook } from './deliver-webhook.js';
import { ShutdownGrace } from '../providers/shutdown-grace.js';

/** Retry delay of a job when the database did not answer. */
const DATABASE_RETRY_MS = 1_000;
/** Deliveries that a worker makes at once, beside its tasks: each waits for a receiver, and needs neither memory nor CPU. */
const AT_ONCE = 50;

/** Delivers webhooks in slots of their own, so that a slow receiver never takes a slot from a task. */
@Processor(WEBHOOK_QUEUE, JOB_WORKER_OPTIONS)
@HandlesJob(DELIVER_WEBHOOK)
export class WebhookProcessor extends WorkerHost implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly errors = new QueueErrors();

  constructor(
    private readonly deliverWebhook: DeliverWebhook,
    private readonly grace: ShutdownGrace,
    private readonly logger: Logger,
  ) {
    super();
  }

  onApplicationBootstrap(): void {
    runJobs(this.worker, AT_ONCE, this.logger);
  }

  /** Also before `runJobs`: BullMQ prints errors that nothing listens for to stderr. */
  @OnWorkerEvent('error')
  warn(error: Error): void {
    if (this.errors.isNew(error)) this.logger.warn('queue.error', { error });
  }

  async process(job: Job<unknown>, token?: string): Promise<void> {
    const { deliveryId } = parseDeliverWebhook(job.data);
    try {
      await this.deliverWebhook.run(deliveryId);
    } catch (error) {
      this.logger.warn('webhook.not_run', { deliveryId, error });
      await job.moveToDelayed(Date.now() + DATABASE_RETRY_MS, token);
      throw new DelayedError();
    }
  }

  /** Stops taking jobs, lets running ones finish within the grace time, then aborts them. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.worker.pause(true);
    const timer = setTimeout(() => this.deliverWebhook.stop(), this.grace.ms);
    await this.worker.close();
    clearTimeout(timer);
  }
}

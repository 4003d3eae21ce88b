import { plainToInstance } from 'class-transformer';
import { IsString, Matches, validateSync } from 'class-validator';

/** The one queue of image jobs. A job carries the task's id and nothing else: the row holds the rest. */
export const IMAGE_QUEUE = 'images';
export const RUN_IMAGE_TASK = 'run-image-task';

/** The task is read from its row; nothing else of it is in Redis. */
export class TaskJob {
  @IsString()
  @Matches(/^task_[0-9A-Z]{26}$/)
  readonly taskId!: string;
}

/** Job ids are never used twice, because adding an id that Redis still knows does nothing. */
export function imageJobId(taskId: string, epoch: number): string {
  return `${taskId}-${epoch}`;
}

/** The task of a job id. */
export function taskIdOf(jobId: string): string {
  return jobId.slice(0, jobId.lastIndexOf('-'));
}

/** The queue of webhook deliveries. A job carries the delivery's id and nothing else. */
export const WEBHOOK_QUEUE = 'webhooks';
export const DELIVER_WEBHOOK = 'deliver-webhook';

/** The delivery is read from its row; nothing else of it is in Redis. */
export class DeliverWebhookJob {
  @IsString()
  @Matches(/^whd_[0-9a-f]{32}$/)
  readonly deliveryId!: string;
}

/** A different id each time a delivery is enqueued, because BullMQ drops a job whose id it already knows. */
export function webhookJobId(deliveryId: string, epoch: number): string {
  return `${deliveryId}-${epoch}`;
}

/** The queue of thumbnails. A job carries the id of the task whose first image gets one, and has the same id itself. */
export const THUMBNAIL_QUEUE = 'thumbnails';
export const CREATE_THUMBNAIL = 'create-thumbnail';

/** Every job, with its queue. A worker does not start unless each has exactly one handler (JobHandlers). */
export const QUEUE_OF_JOB = {
  [RUN_IMAGE_TASK]: IMAGE_QUEUE,
  [DELIVER_WEBHOOK]: WEBHOOK_QUEUE,
  [CREATE_THUMBNAIL]: THUMBNAIL_QUEUE,
} as const;
export type JobName = keyof typeof QUEUE_OF_JOB;

/** Throws on a payload that is not exactly what we put in. */
export function parseRunImageTask(data: unknown): TaskJob {
  return parse(TaskJob, data);
}

/** Throws on a payload that is not exactly what we put in. */
export function parseCreateThumbnail(data: unknown): TaskJob {
  return parse(TaskJob, data);
}

/** Throws on a payload that is not exactly what we put in. */
export function parseDeliverWebhook(data: unknown): DeliverWebhookJob {
  return parse(DeliverWebhookJob, data);
}

function parse<T extends object>(jobClass: new () => T, data: unknown): T {
  const job = plainToInstance(jobClass, data ?? {});
  if (validateSync(job, { whitelist: true, forbidNonWhitelisted: true }).length > 0) throw new Error('unreadable job');
  return job;
}

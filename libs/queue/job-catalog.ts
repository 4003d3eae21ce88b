import { plainToInstance } from 'class-transformer';
import { IsString, Matches, validateSync } from 'class-validator';

/** The one queue of picture jobs. A job carries the task's id and nothing else: the row holds the rest. */
export const IMAGE_QUEUE = 'images';
export const RUN_IMAGE_TASK = 'run-image-task';

export class RunImageTaskJob {
  @IsString()
  @Matches(/^task_[0-9A-Z]{26}$/)
  readonly taskId!: string;
}

/** Job ids are never used twice, because adding an id that Redis still knows does nothing. */
export function imageJobId(taskId: string, epoch: number): string {
  return `${taskId}-${epoch}`;
}

/** Throws on a payload that is not exactly what we put in. */
export function parseRunImageTask(data: unknown): RunImageTaskJob {
  const job = plainToInstance(RunImageTaskJob, data ?? {});
  if (validateSync(job, { whitelist: true, forbidNonWhitelisted: true }).length > 0) throw new Error('unreadable job');
  return job;
}

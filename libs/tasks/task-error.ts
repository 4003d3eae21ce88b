import { errorDetail, type AppError } from '#contract/app-error.js';
import type { TaskError } from './task.js';

/** The error of a failed task: what the sync endpoint would have answered. */
export function taskError(error: AppError): TaskError {
  return { ...errorDetail(error), http_status: error.status };
}

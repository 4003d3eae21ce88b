import { AppError } from '#contract/app-error.js';
import { MAX_BATCH } from '#contract/task-view.js';

const PARAM = 'task_ids';

/** The ids in a POST /v1/tasks/batch body, without duplicates, in order. Throws AppError that names the problem. */
export function batchBody(body: unknown): string[] {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new AppError('invalid_type', 'The request body must be a JSON object.');
  }
  const { task_ids: ids } = body as Record<string, unknown>;
  if (ids === undefined || ids === null) {
    throw new AppError('missing_required_parameter', `${PARAM} is required`, { param: PARAM });
  }
  if (!Array.isArray(ids)) throw new AppError('invalid_type', `${PARAM} must be an array`, { param: PARAM });
  if (ids.length === 0) {
    throw new AppError('array_below_min_length', `${PARAM} must contain at least 1 ID`, { param: PARAM });
  }
  if (ids.length > MAX_BATCH) {
    throw new AppError('array_above_max_length', `${PARAM} must contain at most ${MAX_BATCH} IDs`, { param: PARAM });
  }
  return [...new Set(ids.map(readId))];
}

function readId(id: unknown, index: number): string {
  if (typeof id === 'string') return id;
  const param = `${PARAM}[${index}]`;
  throw new AppError('invalid_type', `${param} must be a string`, { param });
}

import { AppError } from '#contract/app-error.js';

/** `include` of GET /v1/tasks/{id}: whether the timeline is wanted. Throws AppError `invalid_value`. */
export function wantsTimeline(query: unknown): boolean {
  const { include } = query as Record<string, unknown>;
  if (include === undefined || include === '') return false;
  if (include === 'timeline') return true;
  throw new AppError('invalid_value', 'include must be timeline', { param: 'include' });
}

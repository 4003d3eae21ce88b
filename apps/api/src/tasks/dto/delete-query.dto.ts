import { IsOptional } from 'class-validator';
import { AppError } from '#contract/app-error.js';
import { OneOf } from '#contract/field.js';
import type { ErasureFilter } from '#tasks/states/deleted-tasks.js';
import type { TaskStatus } from '#tasks/row/task-status.js';
import { KnownFiltersOnly, NormalizedBy } from '../../common/contract-fields.js';
import { orAbsent, QueryText } from '../../common/query-fields.js';
import { StatusOfTask, UnixSecond } from './list-query.dto.js';

/** The query of DELETE /v1/tasks. A filter that is not known must not be ignored: it would delete more. */
@KnownFiltersOnly()
export class DeleteQuery {
  /** Only tasks created before this time. */
  @UnixSecond()
  readonly before?: Date;

  @StatusOfTask()
  readonly status?: TaskStatus;

  @QueryText()
  readonly end_user?: string;

  @QueryText()
  readonly tag?: string;

  /** Confirms a request without a filter. */
  @NormalizedBy(orAbsent)
  @IsOptional()
  @OneOf(['true'])
  readonly all?: 'true';
}

/** What to delete: nothing that was created after the request. Throws AppError unless it says which tasks, or all. */
export function deletionOf({ before, status, end_user: endUser, tag, all }: DeleteQuery): ErasureFilter {
  if ([before, status, endUser, tag, all].every((filter) => filter === undefined)) {
    throw new AppError('missing_required_parameter', 'Say which tasks to delete, or all=true.', { param: 'all' });
  }
  const now = new Date();
  return { before: before === undefined || before > now ? now : before, status, endUser, tag };
}

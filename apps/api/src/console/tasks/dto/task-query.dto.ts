import type { TaskStatus } from '#tasks/task-status.js';
import { KnownFiltersOnly } from '../../../common/contract-fields.js';
import { AfterTask, DEFAULT_LIMIT, PageLimit, QueryText } from '../../../common/query-fields.js';
import { StatusOfTask, UnixSecond } from '../../../tasks/dto/list-query.dto.js';

/** The query of the console's list of tasks. */
@KnownFiltersOnly()
export class ConsoleTaskQuery {
  @PageLimit()
  readonly limit: number = DEFAULT_LIMIT;

  @AfterTask()
  readonly after?: string;

  @StatusOfTask()
  readonly status?: TaskStatus;

  @UnixSecond()
  readonly since?: Date;

  @QueryText()
  readonly model?: string;

  /** Part of the prompt, in any case of letters, or the whole id of a task or of its request. */
  @QueryText()
  readonly text?: string;

  /** Id of a key, or the word `playground`. */
  @QueryText()
  readonly key?: string;
}

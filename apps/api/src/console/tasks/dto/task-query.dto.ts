import { IsBoolean, IsOptional } from 'class-validator';
import type { TaskStatus } from '#tasks/task-status.js';
import { KnownFiltersOnly, SpelledBy } from '../../../common/contract-fields.js';
import { AfterTask, DEFAULT_LIMIT, orAbsent, PageLimit, QueryText } from '../../../common/query-fields.js';
import { StatusOfTask, UnixSecond } from '../../../tasks/dto/list-query.dto.js';

const orFlag = (value: unknown): unknown => (value === 'true' ? true : value === 'false' ? false : orAbsent(value));

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

  @SpelledBy(orFlag)
  @IsOptional()
  @IsBoolean()
  readonly favorites?: boolean;
}

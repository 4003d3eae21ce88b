import { applyDecorators } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import { IsArray, IsBoolean, IsDefined, IsOptional } from 'class-validator';
import { TASK_ORDERS, type TaskOrdering } from '#tasks/reading/task-list-store.js';
import { PENDING_STATES, TASK_STATUSES } from '#tasks/row/task-status.js';
import { KnownFiltersOnly, NormalizedBy, OptionalBody } from '../../../common/contract-fields.js';
import {
  AfterTask,
  DEFAULT_LIMIT,
  IsoTime,
  orAbsent,
  PageLimit,
  QueryChoice,
  QueryText,
} from '../../../common/query-fields.js';
import { TaskIdsField } from '../../dto/task-ids-field.js';

/** A status, or what pending tasks do. */
export const CONSOLE_STATES = [...TASK_STATUSES, ...PENDING_STATES] as const;
export type ConsoleState = (typeof CONSOLE_STATES)[number];

/** Maximum number of tasks that one request of a bulk action changes. */
const MAX_AT_ONCE = 100;
/** Maximum number of tasks that a bulk action may name. */
const MAX_NAMED = 1_000;

const orFlag = (value: unknown): unknown => (value === 'true' ? true : value === 'false' ? false : orAbsent(value));

const orList = (value: unknown): unknown => (typeof value === 'string' && value !== '' ? value.split(',') : undefined);

const Filter = (name: string, description = ''): MethodDecorator =>
  ApiQuery({ name, required: false, ...(description && { description }), schema: { type: 'string' } });

/** Documents the query parameters of OutcomeQuery, besides the status. */
export const ApiOutcomeFilter = (): MethodDecorator =>
  applyDecorators(
    Filter('model'),
    Filter('key', 'ID of a key, or `playground`.'),
    Filter('person', 'ID of the user who started the task in the console.'),
    Filter('end_user', 'Identifier of the end user, as tasks show it.'),
    Filter('tag'),
    Filter('from', 'Only tasks accepted at or after this time.'),
    Filter('to', 'Only tasks accepted before this time.'),
  );

/** Documents the query parameters of ConsoleTaskFilter. */
export const ApiTaskFilter = (): MethodDecorator =>
  applyDecorators(
    Filter('provider', 'The last provider called.'),
    Filter('error', 'Error code of failed tasks.'),
    Filter('text', 'Part of a prompt, or the ID of a task or request.'),
    ApiOutcomeFilter(),
  );

/** Filters that have an index. */
class IndexedTaskFilter {
  /** Accepted at or after this time. */
  @IsoTime()
  readonly from?: Date;

  /** Accepted before this time. */
  @IsoTime()
  readonly to?: Date;

  @QueryText()
  readonly model?: string;

  /** Id of a key, or `playground`. */
  @QueryText()
  readonly key?: string;

  /** Id of the person who ordered it in the console. */
  @QueryText()
  readonly person?: string;

  /** Identifier of the end user. */
  @QueryText()
  readonly end_user?: string;

  @QueryText()
  readonly tag?: string;
}

/** Filters of the console's tasks, besides their status. */
@KnownFiltersOnly()
export class ConsoleTaskFilter extends IndexedTaskFilter {
  /** The provider that was called last. */
  @QueryText()
  readonly provider?: string;

  /** Error code of failed tasks. */
  @QueryText()
  readonly error?: string;

  /** Part of the prompt (case-insensitive), or the full id of a task or of its request. */
  @QueryText()
  readonly text?: string;
}

/** The query of the console's list of tasks. */
@KnownFiltersOnly()
export class ConsoleTaskQuery extends ConsoleTaskFilter {
  @QueryChoice(CONSOLE_STATES)
  readonly status?: ConsoleState;

  @PageLimit()
  readonly limit: number = DEFAULT_LIMIT;

  @AfterTask()
  readonly after?: string;

  /** `newest` by default. Searches are always newest first, and only a few tasks can be sorted by duration or cost. */
  @QueryChoice(TASK_ORDERS)
  readonly order?: TaskOrdering;

  @NormalizedBy(orFlag)
  @IsOptional()
  @IsBoolean()
  readonly favorites?: boolean;

  /** Only completed tasks whose images are stored. */
  @NormalizedBy(orFlag)
  @IsOptional()
  @IsBoolean()
  readonly images?: boolean;
}

/** The query of the export and the count of tasks. */
@KnownFiltersOnly()
export class TaskExportQuery extends ConsoleTaskFilter {
  @QueryChoice(CONSOLE_STATES)
  readonly status?: ConsoleState;
}

/** The query of a download of several tasks' images. */
@KnownFiltersOnly()
export class TaskIdsQuery {
  @NormalizedBy(orList)
  @IsDefined()
  @IsArray()
  readonly ids!: readonly string[];
}

/** The query of the counts by provider and error. */
@KnownFiltersOnly()
export class OutcomeQuery extends IndexedTaskFilter {
  @QueryChoice(CONSOLE_STATES)
  readonly status?: ConsoleState;
}

/** The query of bulk actions. */
@KnownFiltersOnly()
export class ManyTasksQuery extends ConsoleTaskFilter {
  /** Most tasks to change, or in a dry run, to examine in one step. */
  @PageLimit()
  readonly limit: number = MAX_AT_ONCE;

  /** `next` of the previous response. */
  @AfterTask()
  readonly after?: string;

  /** `true`: a dry run. */
  @QueryChoice(['true', 'false'])
  readonly dry_run?: 'true' | 'false';
}

/** The body of bulk actions. */
@OptionalBody()
export class ManyTasksBody {
  @TaskIdsField({ max: MAX_NAMED, description: 'Only these tasks, instead of those that match the filters.' })
  tasks?: string[] | null;
}

/** The tasks that an action is about. */
export class NamedTasksBody {
  @TaskIdsField({ required: true, max: MAX_AT_ONCE, description: 'These tasks.' })
  tasks!: string[];
}

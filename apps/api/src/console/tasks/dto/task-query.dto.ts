import { applyDecorators } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import { TASK_ORDERS, type TaskOrdering } from '#tasks/reading/task-list-store.js';
import { PENDING_STATES, TASK_STATUSES } from '#tasks/row/task-status.js';
import { KnownFiltersOnly, NormalizedBy } from '../../../common/contract-fields.js';
import {
  AfterTask,
  DEFAULT_LIMIT,
  IsoTime,
  orAbsent,
  PageLimit,
  QueryChoice,
  QueryText,
} from '../../../common/query-fields.js';

/** A status, or what pending tasks do. */
export const CONSOLE_STATES = [...TASK_STATUSES, ...PENDING_STATES] as const;
export type ConsoleState = (typeof CONSOLE_STATES)[number];

const orFlag = (value: unknown): unknown => (value === 'true' ? true : value === 'false' ? false : orAbsent(value));

const Filter = (name: string, description = ''): MethodDecorator =>
  ApiQuery({ name, required: false, ...(description && { description }), schema: { type: 'string' } });

/** Documents the query parameters of ConsoleTaskFilter. */
export const ApiTaskFilter = (): MethodDecorator =>
  applyDecorators(
    Filter('model'),
    Filter('provider', 'The last provider called.'),
    Filter('key', 'ID of a key, or `playground`.'),
    Filter('text', 'Part of a prompt, or the ID of a task or request.'),
    Filter('from', 'Only tasks accepted at or after this time.'),
    Filter('to', 'Only tasks accepted before this time.'),
  );

/** Filters of the console's tasks, besides their status. */
@KnownFiltersOnly()
export class ConsoleTaskFilter {
  /** Accepted at or after this time. */
  @IsoTime()
  readonly from?: Date;

  /** Accepted before this time. */
  @IsoTime()
  readonly to?: Date;

  /** The provider that was called last. */
  @QueryText()
  readonly provider?: string;

  @QueryText()
  readonly model?: string;

  /** Part of the prompt (case-insensitive), or the full id of a task or of its request. */
  @QueryText()
  readonly text?: string;

  /** Id of a key, or `playground`. */
  @QueryText()
  readonly key?: string;
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
}

/** The query of the export and the count of tasks. */
@KnownFiltersOnly()
export class TaskExportQuery extends ConsoleTaskFilter {
  @QueryChoice(CONSOLE_STATES)
  readonly status?: ConsoleState;
}

/** The query of bulk actions. */
@KnownFiltersOnly()
export class ManyTasksQuery extends ConsoleTaskFilter {
  /** `true`: a dry run. */
  @QueryChoice(['true', 'false'])
  readonly dry_run?: 'true' | 'false';
}

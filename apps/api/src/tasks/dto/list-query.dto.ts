import { applyDecorators } from '@nestjs/common';
import { IsOptional } from 'class-validator';
import { OneOf } from '#contract/field.js';
import { Rule, type FieldProblem } from '#contract/field-rule.js';
import { TASK_STATUSES, type TaskStatus } from '#tasks/row/task-status.js';
import { NormalizedBy } from '../../common/contract-fields.js';
import { AfterTask, DEFAULT_LIMIT, orAbsent, orInteger, PageLimit, QueryText } from '../../common/query-fields.js';

/** A task status. */
export function StatusOfTask(): PropertyDecorator {
  return applyDecorators(NormalizedBy(orAbsent), IsOptional(), OneOf(TASK_STATUSES));
}

/** A unix time in seconds, converted to a Date. */
export function UnixSecond(): PropertyDecorator {
  return applyDecorators(NormalizedBy(orDate), IsOptional(), Rule(secondProblem));
}

function orDate(value: unknown): unknown {
  const second = orInteger(value);
  // Postgres has no years below 4713 BC; no task is older than 1970.
  return typeof second === 'number' ? new Date(Math.max(0, second) * 1_000) : second;
}

function secondProblem(value: unknown, name: string): FieldProblem | undefined {
  return value instanceof Date ? undefined : { code: 'invalid_type', message: `${name} must be an integer` };
}

/** The query of GET /v1/tasks. */
export class ListQuery {
  @PageLimit()
  readonly limit: number = DEFAULT_LIMIT;

  @AfterTask()
  readonly after?: string;

  @StatusOfTask()
  readonly status?: TaskStatus;

  /** Only tasks created at or after this time. */
  @UnixSecond()
  readonly since?: Date;

  /** Only tasks of this end user: its identifier, as `safety_identifier` of a response shows it. */
  @QueryText()
  readonly end_user?: string;

  @QueryText()
  readonly tag?: string;
}

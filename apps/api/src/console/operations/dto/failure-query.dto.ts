import { applyDecorators } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { Rule, type FieldProblem } from '#contract/field-rule.js';
import { NormalizedBy } from '../../../common/contract-fields.js';
import { AfterTask, DEFAULT_LIMIT, orAbsent, PageLimit, QueryChoice } from '../../../common/query-fields.js';
import { MAX_DAYS } from './failure-views.dto.js';

const DAY_MS = 86_400_000;
const USUAL_DAYS = 7;
const MAX_LENGTH = 200;

/** The time this many days ago; 7 by default. */
export function daysAgo(days: number | null | undefined): Date {
  return new Date(Date.now() - (days ?? USUAL_DAYS) * DAY_MS);
}

function orDays(value: unknown): unknown {
  return typeof value === 'string' && /^\d{1,3}$/.test(value) ? Number(value) : orAbsent(value);
}

function daysProblem(value: unknown, name: string): FieldProblem | undefined {
  if (typeof value === 'number' && value >= 1 && value <= MAX_DAYS) return undefined;
  return { code: 'invalid_value', message: `${name} must be a number from 1 to ${MAX_DAYS}` };
}

/** The time range of a query, in days. */
function Days(): PropertyDecorator {
  return applyDecorators(NormalizedBy(orDays), IsOptional(), Rule(daysProblem));
}

/** Documents the time range. */
export const ApiDays = (): MethodDecorator =>
  ApiQuery({
    name: 'days',
    required: false,
    schema: { type: 'integer', minimum: 1, maximum: MAX_DAYS, default: USUAL_DAYS },
  });

function textProblem(value: unknown, name: string): FieldProblem | undefined {
  if (typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH && !value.includes('\u0000')) {
    return undefined;
  }
  return { code: 'invalid_value', message: `${name} must be a string of 1 to ${MAX_LENGTH} characters` };
}

/** The query of failures by kind. */
export class FailuresQuery {
  @Days()
  readonly days?: number;
}

/** The query of the failures of one kind. */
export class FailedTasksQuery {
  @PageLimit()
  readonly limit: number = DEFAULT_LIMIT;

  @AfterTask()
  readonly after?: string;

  /** The last called provider; absent: no provider was called. */
  @NormalizedBy(orAbsent)
  @IsOptional()
  @Rule(textProblem)
  readonly provider?: string;

  @Rule(textProblem)
  readonly code!: string;

  @Rule(textProblem)
  readonly model!: string;

  /** Provider tests instead of the tasks of callers. */
  @QueryChoice(['true', 'false'])
  readonly provider_test?: string;

  @Days()
  readonly days?: number;
}

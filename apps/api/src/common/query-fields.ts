import { applyDecorators } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { Integer } from '#contract/field.js';
import { Rule, type FieldProblem } from '#contract/field-rule.js';
import { isTaskId } from '#tasks/row/task-id.js';
import { NormalizedBy } from './contract-fields.js';

const MAX_TEXT = 200;
const MAX_LIMIT = 100;
/** Default page size. */
export const DEFAULT_LIMIT = 20;

/** Treats an empty parameter as absent. */
export const orAbsent = (value: unknown): unknown => (value === '' ? undefined : value);

/** Converts an integer parameter to a number; other values are left to validation. */
export const orInteger = (value: unknown): unknown =>
  typeof value === 'string' && /^-?\d{1,11}$/.test(value) ? Number(value) : orAbsent(value);

/** A page size, 1 to 100. */
export function PageLimit(): PropertyDecorator {
  return applyDecorators(NormalizedBy(orInteger), Integer({ min: 1, max: MAX_LIMIT }));
}

/** Documents `limit` and `after` of a page of the console's lists. */
export function ApiPage(): MethodDecorator {
  return applyDecorators(
    ApiQuery({ name: 'after', required: false, schema: { type: 'string' } }),
    ApiQuery({ name: 'limit', required: false, schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT } }),
  );
}

/** Id of the last task on the previous page. */
export function AfterTask(): PropertyDecorator {
  return applyDecorators(NormalizedBy(orAbsent), IsOptional(), Rule(afterProblem));
}

function afterProblem(value: unknown, name: string): FieldProblem | undefined {
  if (typeof value === 'string' && isTaskId(value)) return undefined;
  return { code: 'invalid_value', message: `${name} must be a task ID` };
}

/** A text of at most 200 characters. */
export function QueryText(): PropertyDecorator {
  return applyDecorators(NormalizedBy(orAbsent), IsOptional(), Rule(textProblem));
}

function textProblem(value: unknown, name: string): FieldProblem | undefined {
  if (typeof value !== 'string') return { code: 'invalid_type', message: `${name} must be a string` };
  if (value.length <= MAX_TEXT && !value.includes('\u0000')) return undefined;
  return { code: 'invalid_value', message: `${name} must be at most ${MAX_TEXT} characters long` };
}

/** Like QueryText, but only the given choices. */
export function QueryChoice(choices: readonly string[]): PropertyDecorator {
  const problem = (value: unknown, name: string): FieldProblem | undefined =>
    textProblem(value, name) ??
    (choices.some((choice) => choice === value)
      ? undefined
      : { code: 'invalid_value', message: `${name} must be one of ${choices.join(', ')}` });
  return applyDecorators(NormalizedBy(orAbsent), IsOptional(), Rule(problem));
}

/** An ISO 8601 time, converted to a Date. */
export function IsoTime(): PropertyDecorator {
  return applyDecorators(NormalizedBy(orDate), IsOptional(), Rule(timeProblem));
}

function orDate(value: unknown): unknown {
  const time = new Date(typeof value === 'string' && /^\d{4}-\d\d-\d\d/.test(value) ? value : NaN);
  // Postgres has no year 0.
  return time.getUTCFullYear() > 0 ? time : orAbsent(value);
}

function timeProblem(value: unknown, name: string): FieldProblem | undefined {
  if (value instanceof Date) return undefined;
  return { code: 'invalid_value', message: `${name} must be a time in ISO 8601 format` };
}

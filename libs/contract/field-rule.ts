import { registerDecorator, type ValidationError, validateSync } from 'class-validator';
import { AppError } from './app-error.js';
import type { ErrorCode } from './error-codes.js';
import { fieldsOf } from './request-fields.js';

/** A problem of a field; `at` points to a part of it, e.g. `[3]`. */
export interface FieldProblem {
  readonly code: ErrorCode;
  readonly message: string;
  readonly at?: string;
}

/** Finds the problem of a value; undefined if it has none. */
export type FindProblem = (value: unknown, property: string) => FieldProblem | undefined;

const RULES = new Map<string, FindProblem>();

/** A check that class-validator does not provide, with its own error code. */
export function Rule(find: FindProblem): PropertyDecorator {
  const name = `rule ${RULES.size}`;
  RULES.set(name, find);
  return (target, property) => {
    registerDecorator({
      name,
      target: target.constructor,
      propertyName: String(property),
      validator: { validate: (value: unknown) => find(value, String(property)) === undefined },
    });
  };
}

/** class-validator's constraints, in the order in which they are reported, and their error codes. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  isDefined: 'missing_required_parameter',
  isString: 'invalid_type',
  isBoolean: 'invalid_type',
  isInt: 'invalid_type',
  isArray: 'invalid_type',
  isObject: 'invalid_type',
  isNotEmpty: 'invalid_value',
  min: 'integer_below_min_value',
  max: 'integer_above_max_value',
  isIn: 'invalid_value',
  matches: 'invalid_value',
  maxLength: 'string_above_max_length',
};

/**
 * Throws AppError for the first problem, in the order of the class's fields. `further` checks valid fields by rules
 * that only the caller knows.
 */
export function assertFields(
  fields: object,
  further?: (field: string, value: unknown) => FieldProblem | undefined,
): void {
  const failures = validateSync(fields, { forbidUnknownValues: false, validationError: { target: false } });
  for (const field of fieldsOf(fields.constructor)) {
    const failure = failures.find(({ property }) => property === field);
    if (failure !== undefined) throw fieldError(failure);
    const problem = further?.(field, Reflect.get(fields, field));
    if (problem) throw new AppError(problem.code, problem.message, { param: field });
  }
}

function fieldError(failure: ValidationError): AppError {
  const { property } = failure;
  const value: unknown = failure.value;
  const constraints = failure.constraints ?? {};
  for (const [name, code] of Object.entries(CODES)) {
    const message = constraints[name];
    if (message !== undefined) return new AppError(code, sentence(name, property, message), { param: property });
  }
  for (const name of Object.keys(constraints)) {
    const problem = RULES.get(name)?.(value, property);
    if (problem) return new AppError(problem.code, problem.message, { param: property + (problem.at ?? '') });
  }
  return new AppError('invalid_value', `${property} is not valid`, { param: property });
}

const TYPES: Readonly<Record<string, string>> = {
  isString: 'a string',
  isBoolean: 'true or false',
  isInt: 'an integer',
  isArray: 'an array',
  isObject: 'an object',
};

function sentence(constraint: string, property: string, message: string): string {
  if (constraint === 'isDefined') return `Missing required parameter: '${property}'.`;
  if (constraint === 'isNotEmpty') return `${property} must not be empty`;
  const type = TYPES[constraint];
  return type === undefined ? message : `${property} must be ${type}`;
}

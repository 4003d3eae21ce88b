import { AppError } from '#contract/app-error.js';
import { assertFields } from '#contract/field-rule.js';
import { readFields, shownNames } from '#contract/request-fields.js';

/**
 * A checked instance of a class made from a body; `null` counts as absent. Throws AppError for the first thing wrong;
 * a field the class does not know is wrong too.
 */
export function consoleBody<T extends object>(bodyClass: new () => T, body: unknown): T {
  const { request, ignored } = readFields(bodyClass, body);
  const [unknown] = shownNames(ignored);
  if (unknown !== undefined) {
    throw new AppError('unsupported_parameter', `There is no field ${unknown} here.`, { param: unknown });
  }
  assertFields(request);
  return request;
}

import { plainToInstance } from 'class-transformer';
import { AppError } from '#contract/app-error.js';
import { assertFields } from '#contract/field-rule.js';
import { fieldsOf, shownNames } from '#contract/request-fields.js';

/**
 * A checked instance of a class made from a body, or from a query, with the class's own transformations. Throws AppError for the first thing wrong; a field
 * the class does not know is wrong too. `null` is kept where the class allows it: it takes a setting back.
 */
export function consoleBody<T extends object>(bodyClass: new () => T, body: unknown): T {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new AppError('invalid_json', 'The request body must be a JSON object.');
  }
  const known = fieldsOf(bodyClass);
  const unknown = Object.keys(body).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const [shown = ''] = shownNames([unknown]);
    throw new AppError('unsupported_parameter', `There is no field ${shown} here.`, { param: shown });
  }
  const read = plainToInstance(bodyClass, body);
  assertFields(read);
  return read;
}

import { AppError } from '#contract/app-error.js';
import { assertFields } from '#contract/field-rule.js';
import { fieldsOf, shownNames } from '#contract/request-fields.js';

const SPELLING = Symbol('spelling');
type Spell = (value: unknown) => unknown;

/** Brings a field to its one spelling before it is checked. */
export function SpelledBy(spell: Spell): PropertyDecorator {
  return (target, property) => {
    Reflect.defineMetadata(SPELLING, spell, target, property);
  };
}

/**
 * A checked instance of a class made from a body, or from a query. Throws AppError for the first thing wrong; a field
 * the class does not know is wrong too. `null` is kept where the class allows it: it takes a setting back.
 */
export function consoleBody<T extends object>(bodyClass: new () => T, body: unknown): T {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new AppError('invalid_json', 'The request body must be a JSON object.');
  }
  const known = fieldsOf(bodyClass);
  const read = new bodyClass();
  for (const [name, value] of Object.entries(body)) {
    const [shown = ''] = shownNames([name]);
    if (!known.includes(name)) {
      throw new AppError('unsupported_parameter', `There is no field ${shown} here.`, { param: shown });
    }
    const spell = Reflect.getMetadata(SPELLING, read, name) as Spell | undefined;
    if (value !== undefined) Reflect.set(read, name, spell === undefined ? value : spell(value));
  }
  assertFields(read);
  return read;
}

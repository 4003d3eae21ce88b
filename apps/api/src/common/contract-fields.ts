import { AppError } from '#contract/app-error.js';
import { assertFields } from '#contract/field-rule.js';
import { fieldsOf, shownNames } from '#contract/request-fields.js';
import { isStorable } from '#contract/text-rules.js';

const SPELLING = Symbol('spelling');
const MAY_BE_MISSING = Symbol('may be missing');
const KNOWN_ONLY = Symbol('known only');

type Normalize = (value: unknown) => unknown;
type Fields<T extends object> = new () => T;

/** Normalizes a field's spelling before validation. */
export function NormalizedBy(spell: Normalize): PropertyDecorator {
  return (target, property) => Reflect.defineMetadata(SPELLING, spell, target, property);
}

/** Marks a body as optional: a missing one counts as empty. */
export function OptionalBody(): ClassDecorator {
  return (target) => Reflect.defineMetadata(MAY_BE_MISSING, true, target);
}

/** Rejects unknown parameters of a query; without this they are ignored. */
export function KnownFiltersOnly(): ClassDecorator {
  return (target) => Reflect.defineMetadata(KNOWN_ONLY, true, target);
}

/**
 * Creates a validated instance of a body class. Throws AppError for the first problem; unknown fields are rejected.
 * `null` is kept where the class allows it: it resets a setting.
 */
export function checkedBody<T extends object>(bodyClass: Fields<T>, sent: unknown): T {
  const body = Reflect.hasMetadata(MAY_BE_MISSING, bodyClass) ? (sent ?? {}) : sent;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new AppError('invalid_json', 'The request body must be a JSON object.');
  }
  const known = fieldsOf(bodyClass);
  const read = new bodyClass();
  for (const [name, value] of Object.entries(body)) {
    const [shown = ''] = shownNames([name]);
    if (!known.includes(name)) {
      throw new AppError('unsupported_parameter', `Unknown field ${shown}.`, { param: shown });
    }
    if (value !== undefined) Reflect.set(read, name, normalized(read, name, value));
  }
  assertFields(read);
  for (const [name, value] of Object.entries(read)) {
    if (hasStorableTexts(value)) continue;
    const text = `${name} must not contain the NUL character, or half of a surrogate pair`;
    throw new AppError('invalid_value', text, { param: name });
  }
  return read;
}

/** Of a JSON value, the names of members included: whatever a body says may be stored somewhere, if only in the audit log. */
function hasStorableTexts(value: unknown): boolean {
  const left = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one === 'string' ? !isStorable(one) : isPlainObject(one) && !Object.keys(one).every(isStorable))
      return false;
    if (Array.isArray(one) || isPlainObject(one)) for (const item of Object.values(one)) left.push(item);
  }
  return true;
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Creates a validated instance of a query class; absent parameters keep the class's defaults. Throws AppError. */
export function checkedQuery<T extends object>(queryClass: Fields<T>, query: unknown): T {
  const known = fieldsOf(queryClass);
  const sent = Object.entries(query ?? {});
  if (Reflect.hasMetadata(KNOWN_ONLY, queryClass) && !sent.every(([name]) => known.includes(name))) {
    throw new AppError('unsupported_parameter', 'Unknown filter.', { param: 'query' });
  }
  const read = new queryClass();
  for (const [name, text] of sent) {
    const value = known.includes(name) ? normalized(read, name, text) : undefined;
    if (value !== undefined) Reflect.set(read, name, value);
  }
  assertFields(read);
  return read;
}

function normalized(fields: object, name: string, value: unknown): unknown {
  const spell = Reflect.getMetadata(SPELLING, fields, name) as Normalize | undefined;
  return spell === undefined ? value : spell(value);
}

import { getMetadataStorage } from 'class-validator';
import { AppError } from './app-error.js';
import { LongText } from './long-text.js';

const knownFields = new WeakMap<object, readonly string[]>();

/** The fields that a request class declares, in declaration order. */
export function fieldsOf(requestClass: object['constructor']): readonly string[] {
  let fields = knownFields.get(requestClass);
  if (fields === undefined) {
    const metadata = getMetadataStorage().getTargetValidationMetadatas(requestClass, '', false, false);
    fields = [...new Set(metadata.map(({ propertyName }) => propertyName))];
    knownFields.set(requestClass, fields);
  }
  return fields;
}

/** A parsed request, and the names of ignored fields. */
export interface ReadFields<T> {
  readonly request: T;
  /** Names of the fields that the class does not declare; never their values. */
  readonly ignored: readonly string[];
  /** The same fields with their values, for models whose catalog entries know them. Never logged. */
  readonly unknown: ReadonlyMap<string, unknown>;
}

/**
 * Copies the declared fields of a body to an instance of the class, without validating them; `null` counts as absent.
 * Throws AppError `invalid_json` when the body is not a JSON object.
 */
export function readFields<T extends object>(requestClass: new () => T, body: unknown): ReadFields<T> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new AppError('invalid_json', 'The request body must be a JSON object.');
  }
  const known = fieldsOf(requestClass);
  const request = new requestClass();
  const unknown = new Map<string, unknown>();
  for (const [name, value] of Object.entries(body)) {
    if (value === null || value === undefined) continue;
    if (!known.includes(name)) unknown.set(name, value);
    else Reflect.set(request, name, plain(value));
  }
  return { request, ignored: [...unknown.keys()], unknown };
}

/** Longer than any text field may be, in characters. */
const TOO_LONG = 131_072;

/**
 * Text fields become strings. Images are only in lists and objects, so an image here is either a text or too long for
 * one.
 */
function plain(value: unknown): unknown {
  return value instanceof LongText ? value.start(TOO_LONG) : value;
}

const MAX_NAMES = 32;
const MAX_NAME_LENGTH = 64;

/** Why fields that every request has may have no effect. */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  resolution: 'The field resolution has no effect with a size in pixels',
  output_compression: 'The field output_compression only applies to jpeg and webp',
  input_fidelity: 'The field input_fidelity has no effect with this model',
  callback_url: 'The field callback_url only applies to asynchronous calls',
};

/** Why a field is ignored, as the start of a sentence. */
export function whyIgnored(name: string): string {
  return Object.hasOwn(WITHOUT_EFFECT, name) ? (WITHOUT_EFFECT[name] ?? '') : `The field ${name} is unknown`;
}

/** Value of the `x-ignored-params` header. */
export function ignoredParamsHeader(names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const listed = shownNames(names).join(', ');
  return names.length > MAX_NAMES ? `${listed}, ...` : listed;
}

/** The first names, shortened and cleaned so that any JSON key is safe in a header. */
export function shownNames(names: readonly string[]): string[] {
  return names.slice(0, MAX_NAMES).map((name) => name.slice(0, MAX_NAME_LENGTH).replace(/[^A-Za-z0-9_.[\]-]/g, '_'));
}

import { Prisma } from './generated/client.js';

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The fields that are not undefined: the types of Prisma's filters don't accept undefined. */
export function definedFields<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/**
 * Pads a list for Prisma's `in` with its last value to a power of two. Each length is a separate statement that every
 * connection keeps prepared, so this keeps them to a few instead of hundreds.
 */
export function inList<T>(values: readonly T[]): T[] {
  const last = values.at(-1);
  if (last === undefined) return [];
  const length = 2 ** Math.ceil(Math.log2(values.length));
  return [...values, ...Array.from({ length: length - values.length }, () => last)];
}

/** Converts an object for a Json column; drops values that JSON can't express, such as undefined. */
export function jsonOf(value: object): Prisma.InputJsonObject {
  return JSON.parse(JSON.stringify(value)) as Prisma.InputJsonObject;
}

/** The value to compare with in a filter by Json path, to find rows without that path. */
export const JSON_PATH_MISSING = Prisma.DbNull;

/** No value in a Json column. */
export const NO_JSON = Prisma.DbNull;

/** The object in a Json column; empty if the column holds anything else. */
export function objectOf(json: Prisma.JsonValue): Prisma.JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json) ? json : {};
}

import { Prisma } from './generated/client.js';

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The fields that have a value, for Prisma's filters: to its types, one without is none. */
export function given<T extends object>(fields: T): Given<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>;
}

/**
 * A list for Prisma's `in`, whose last value is repeated until its length is a power of two. Each length is a statement of
 * its own, which every connection keeps prepared: so there are a few of them instead of hundreds.
 */
export function inList<T>(values: readonly T[]): T[] {
  const last = values.at(-1);
  if (last === undefined) return [];
  const length = 2 ** Math.ceil(Math.log2(values.length));
  return [...values, ...Array.from({ length: length - values.length }, () => last)];
}

/** An object as a Json column takes it; what JSON cannot say, such as undefined, is left out. */
export function jsonOf(value: object): Prisma.InputJsonObject {
  return JSON.parse(JSON.stringify(value)) as Prisma.InputJsonObject;
}

/** What a filter by a path of a Json column equals where the path leads to nothing. */
export const NOT_THERE = Prisma.DbNull;

/** The object that a Json column holds; of anything else, an empty one. */
export function objectOf(json: Prisma.JsonValue): Prisma.JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json) ? json : {};
}

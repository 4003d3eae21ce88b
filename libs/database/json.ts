import { Prisma } from './generated/client.js';

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

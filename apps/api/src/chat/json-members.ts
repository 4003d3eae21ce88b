import { invalidJson, JsonScan, type Span } from '../common/fastify/json-scan.js';

export type { Span };

/** The positions of a JSON object's values, by name. Throws AppError `invalid_json`. */
export function jsonMembers(bytes: Buffer): ReadonlyMap<string, Span> {
  const scan = new JsonScan();
  scan.finish(bytes, bytes.length);
  return scan.members;
}

/** The number of members in all objects of a JSON text, duplicates included. Throws AppError `invalid_json`. */
export function membersIn(bytes: Buffer): number {
  const scan = new JsonScan();
  scan.finish(bytes, bytes.length);
  return scan.memberCount;
}

/** The value of a span. Throws AppError `invalid_json`. */
export function valueAt(bytes: Buffer, { start, end }: Span): unknown {
  try {
    return JSON.parse(bytes.toString('utf8', start, end));
  } catch {
    throw invalidJson();
  }
}

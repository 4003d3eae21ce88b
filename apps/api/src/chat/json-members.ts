import { invalidJson, JsonScan, type Span } from '../common/fastify/json-scan.js';

export type { Span };

/** Where the values of a JSON object stand, by name. Throws AppError `invalid_json` when the bytes are no JSON. */
export function jsonMembers(bytes: Buffer): ReadonlyMap<string, Span> {
  const scan = new JsonScan();
  scan.finish(bytes, bytes.length);
  return scan.members;
}

/** How many members the objects of a JSON text were written with. Throws AppError `invalid_json`. */
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

import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { SMALL_BODY_BYTES, type BodyMemory } from './body-memory.js';
import { collectBody, discardRest } from './request-stream.js';

const MAX_DEPTH = 32;

/** Limit of JSON bodies on routes that carry no images, in bytes. */
export const SMALL_JSON_LIMIT = SMALL_BODY_BYTES;

/** Reads and parses a JSON body, as `readBody` does. Throws AppError `invalid_json` besides. */
export async function readJsonBody(...parts: Parameters<typeof readBody>): Promise<unknown> {
  return parseJson(textOf(await readChunks(...parts)));
}

/**
 * Reads a body of at most `limit` bytes.
 * Bytes beyond the first MiB are accounted to `memory` until `releaseBody`.
 * Throws AppError (request_too_large, server_is_overloaded) or the connection's error.
 */
export async function readBody(...parts: Parameters<typeof readChunks>): Promise<Buffer> {
  const chunks = await readChunks(...parts);
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}

async function readChunks(
  request: FastifyRequest,
  payload: IncomingMessage,
  limit: number,
  memory: BodyMemory,
): Promise<Buffer[]> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limit) {
    discardRest(payload);
    throw tooLarge(limit);
  }
  let bytes = 0;
  return collectBody(payload, (chunk) => {
    bytes += chunk.length;
    if (bytes > limit) throw tooLarge(limit);
    if (bytes > SMALL_BODY_BYTES && bytes > request.heldBytes) hold(request, memory, bytes - request.heldBytes);
  });
}

/** Gives back the memory of a body whose images are stored, or whose request is over. */
export function releaseBody(request: FastifyRequest, memory: BodyMemory): void {
  request.body = undefined;
  memory.give(request.heldBytes);
  request.heldBytes = 0;
}

function hold(request: FastifyRequest, memory: BodyMemory, bytes: number): void {
  memory.take(bytes);
  request.heldBytes += bytes;
}

function textOf(chunks: Buffer[]): string {
  const text = (chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)).toString('utf8');
  chunks.length = 0;
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new AppError('invalid_json', 'The request body is not valid JSON.');
  }
  if (text.length > 2 * MAX_DEPTH && deeperThan(value, MAX_DEPTH)) {
    throw new AppError('invalid_json', `The request body is nested deeper than ${MAX_DEPTH} levels.`);
  }
  return value;
}

/** Level by level, so that a deep body can't exhaust the stack. */
function deeperThan(root: unknown, limit: number): boolean {
  let level: object[] = isContainer(root) ? [root] : [];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > limit) return true;
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
  return false;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function tooLarge(limit: number): AppError {
  return new AppError('request_too_large', `The request body is larger than ${limit} bytes.`);
}

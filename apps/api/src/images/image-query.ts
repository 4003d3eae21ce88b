import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { fieldsOf } from '#contract/request-fields.js';
import { ImageEditRequest, ImageGenerationRequest } from '#contract/image-request.js';
import { discardRest } from '../common/request-stream.js';

/** Query parameters of an image request, by plain name. */
const FLAGS = new Map(['dry_run', 'async'].map((name) => [plainName(name), name]));
const VALUES = new Map<unknown, boolean>([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/** Body fields by plain name, computed once, because a query may have thousands of names. */
let bodyFields: ReadonlyMap<string, string> | undefined;

/** Query parameters of an image request. */
export interface ImageQuery {
  /** Return only the price. */
  readonly dryRun: boolean;
  /** Return the task instead of the image. */
  readonly asynchronous: boolean;
}

/** A name without case and separators: `dryrun` for dry_run, dryRun and Dry-Run. */
export function plainName(name: string): string {
  return name.replace(/[-_]/g, '').toLowerCase();
}

/**
 * Parses the query. A misspelled parameter, or one that belongs in the body, would change the image or its price, so it
 * is rejected with AppError `invalid_value`. Other parameters belong to clients and their gateways (`api-version`).
 */
export function readImageQuery(request: FastifyRequest): ImageQuery {
  const query = (request.query ?? {}) as Record<string, unknown>;
  for (const [name, value] of Object.entries(query)) {
    const problem = problemOf(name, value);
    if (problem === undefined) continue;
    discardRest(request.raw);
    throw problem;
  }
  return { dryRun: VALUES.get(query.dry_run) ?? false, asynchronous: VALUES.get(query.async) ?? false };
}

function problemOf(name: string, value: unknown): AppError | undefined {
  const plain = plainName(name);
  const flag = FLAGS.get(plain);
  if (flag !== undefined && flag !== name) {
    return refused(flag, `Unknown query parameter ${name}. Did you mean ${flag}?`);
  }
  if (flag !== undefined) return VALUES.has(value) ? undefined : refused(flag, `${flag} must be true or false`);
  bodyFields ??= new Map(
    [...fieldsOf(ImageGenerationRequest), ...fieldsOf(ImageEditRequest)].map((known) => [plainName(known), known]),
  );
  const field = bodyFields.get(plain);
  return field === undefined ? undefined : refused(field, `${field} belongs in the request body, not in the query.`);
}

function refused(param: string, text: string): AppError {
  return new AppError('invalid_value', text, { param });
}

import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { fieldsOf } from '#contract/request-fields.js';
import { ImageEditRequest, ImageGenerationRequest } from '#contract/image-request.js';
import { discardRest } from '../common/request-stream.js';

/** What the query of an image request may say. */
const FLAGS = ['dry_run', 'async'] as const;
const VALUES = new Map<unknown, boolean>([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/** What an image request asks for in its query. */
export interface ImageQuery {
  /** Only the price is asked for. */
  readonly dryRun: boolean;
  /** The task is to be answered, not the image. */
  readonly asynchronous: boolean;
}

/** A name without what spellings differ in: `dryrun` of dry_run, dryRun and Dry-Run. */
export function plainName(name: string): string {
  return name.replace(/[-_]/g, '').toLowerCase();
}

/**
 * Reads the query. What it misspells, or belongs in the body, would change the image or what is paid for it, so it is
 * refused: throws AppError `invalid_value`. Other names are those of clients and their gateways (`api-version`).
 */
export function readImageQuery(request: FastifyRequest): ImageQuery {
  const query = Object.entries((request.query ?? {}) as Record<string, unknown>);
  const problem = query.map(([name, value]) => problemOf(name, value)).find((one) => one !== undefined);
  if (problem !== undefined) {
    discardRest(request.raw);
    throw problem;
  }
  const [dryRun = false, asynchronous = false] = FLAGS.map((flag) =>
    VALUES.get(query.find(([name]) => name === flag)?.[1]),
  );
  return { dryRun, asynchronous };
}

function problemOf(name: string, value: unknown): AppError | undefined {
  const flag = FLAGS.find((known) => plainName(known) === plainName(name));
  if (flag !== undefined && flag !== name) {
    return refused(flag, `There is no query parameter ${name}. Did you mean ${flag}?`);
  }
  if (flag !== undefined) return VALUES.has(value) ? undefined : refused(flag, `${flag} must be true or false`);
  const field = bodyFields().find((known) => plainName(known) === plainName(name));
  return field === undefined
    ? undefined
    : refused(field, `${field} belongs in the body of the request, not in its query.`);
}

function bodyFields(): readonly string[] {
  return [...fieldsOf(ImageGenerationRequest), ...fieldsOf(ImageEditRequest)];
}

function refused(param: string, text: string): AppError {
  return new AppError('invalid_value', text, { param });
}

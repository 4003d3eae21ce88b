import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { fieldsOf } from '#contract/request-fields.js';
import { ImageEditRequest, ImageGenerationRequest } from '#contract/image-request.js';
import { discardRest } from '../common/request-stream.js';

/** Query parameters of an image request, by plain name. */
const FLAGS = new Map(['dry_run', 'async'].map((name) => [plainName(name), name]));
/** Sent by Azure's clients with every request; changes nothing here. */
const IGNORED: ReadonlySet<string> = new Set(['api-version']);
const KNOWN = `Known parameters: ${[...FLAGS.values(), ...IGNORED].join(', ')}.`;
/** Characters of an unknown name that its error repeats. */
const SHOWN_LENGTH = 40;
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

/** Like plainName, also without whatever else is not part of a name: `dryrun` for dry_run[], ` dry_run` and dry_run[0]. */
function bareName(name: string): string {
  return plainName(name.replace(/\[.*|[^\w-]/gs, ''));
}

/**
 * Parses the query. What it does not know may be a misspelled parameter, or one that belongs in the body, and would
 * change the image or its price, so it is rejected with AppError `invalid_value` or `unsupported_parameter`.
 */
export function readImageQuery(request: FastifyRequest): ImageQuery {
  const query = queryOf(request);
  for (const [name, value] of Object.entries(query)) refuse(request, problemOf(name, value));
  return { dryRun: VALUES.get(query.dry_run) ?? false, asynchronous: VALUES.get(query.async) ?? false };
}

/** Checks the query of a chat, which has no parameters: a quote or a task that it asks for must not become a purchase. */
export function assertChatQuery(request: FastifyRequest): void {
  for (const name of Object.keys(queryOf(request))) {
    if (IGNORED.has(name)) continue;
    const flag = FLAGS.get(bareName(name));
    const text =
      flag === undefined
        ? `Unknown query parameter ${shown(name)}. Chats have none, apart from ${[...IGNORED].join(', ')}.`
        : `Chats do not support ${flag}: send the image request to /v1/images/generations?${flag}=true.`;
    refuse(request, unsupported(flag ?? shown(name), text));
  }
}

function queryOf({ query }: FastifyRequest): Record<string, unknown> {
  const { '': unnamed, ...named } = (query ?? {}) as Record<string, unknown>;
  // `?` and `&` at an end make a name without a character.
  return unnamed === undefined || unnamed === '' ? named : { ...named, '=': unnamed };
}

function refuse(request: FastifyRequest, problem: AppError | undefined): void {
  if (problem === undefined) return;
  discardRest(request.raw);
  throw problem;
}

function problemOf(name: string, value: unknown): AppError | undefined {
  if (IGNORED.has(name)) return undefined;
  const bare = bareName(name);
  const flag = FLAGS.get(bare);
  if (flag !== undefined && flag !== name) {
    return refused(flag, `Unknown query parameter ${shown(name)}. Did you mean ${flag}?`);
  }
  if (flag !== undefined) return VALUES.has(value) ? undefined : refused(flag, `${flag} must be true or false, once`);
  bodyFields ??= new Map(
    [...fieldsOf(ImageGenerationRequest), ...fieldsOf(ImageEditRequest)].map((known) => [plainName(known), known]),
  );
  const field = bodyFields.get(bare);
  if (field !== undefined) return refused(field, `${field} belongs in the request body, not in the query.`);
  return unsupported(shown(name), `Unknown query parameter ${shown(name)}. ${KNOWN}`);
}

/** An unknown name may be of any length, or a secret that was sent without its name. */
function shown(name: string): string {
  return name.length > SHOWN_LENGTH ? `${name.slice(0, SHOWN_LENGTH)}…` : name;
}

function unsupported(param: string, text: string): AppError {
  return new AppError('unsupported_parameter', text, { param });
}

function refused(param: string, text: string): AppError {
  return new AppError('invalid_value', text, { param });
}

/** How a caller wants its response. */
export interface CallMode {
  /** Whether to respond with 202 when the task is still running after the wait. */
  readonly asynchronous: boolean;
  /** How long to wait for the image, in ms. */
  readonly waitMs: number;
  /** Whether the query or a header requested the mode, which Preference-Applied then confirms. */
  readonly preferred: boolean;
  /** Seconds of an honored `Prefer: wait`. */
  readonly waitSeconds: number | undefined;
}

interface CallPreferences {
  /** Whether the query says `async=true`. */
  readonly asynchronous: boolean;
  readonly prefer: string | string[] | undefined;
}

/** The mode of a call to a sync path: plain, `?async=true`, or `Prefer: respond-async` and `wait=N` (RFC 7240). */
export function callMode({ asynchronous: asked, prefer }: CallPreferences, syncWaitMs: number): CallMode {
  const preferences = [prefer ?? []].flat().join(',').split(',');
  const asynchronous = asked || preferences.some((text) => /^\s*respond-async\s*(?:;|$)/i.test(text));
  const waitSeconds = preferences.map(secondsOf).find((seconds) => seconds !== undefined && seconds >= 1);
  const requestedMs = waitSeconds === undefined ? (asynchronous ? 0 : syncWaitMs) : waitSeconds * 1000;
  return { asynchronous, waitMs: Math.min(requestedMs, syncWaitMs), preferred: asynchronous, waitSeconds };
}

/** The mode of an `/async` path, whatever the request says. */
export const ASYNC_PATH: CallMode = { asynchronous: true, waitMs: 0, preferred: false, waitSeconds: undefined };

function secondsOf(preference: string): number | undefined {
  const match = /^\s*wait\s*=\s*"?(\d{1,6})"?\s*(?:;|$)/i.exec(preference);
  return match ? Number(match[1]) : undefined;
}

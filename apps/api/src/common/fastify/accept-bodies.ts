import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { AppError } from '#contract/app-error.js';
import { JSON_BODY_LIMIT } from '../api.config.js';
import { collectBody, discardBody, discardRest } from '../request-stream.js';
import type { BodyMemory } from './body-memory.js';
import { readBody, readJsonBody } from './json-body.js';

/** Largest JSON bodies, in bytes: without a session at the console, with one, and on API routes without images. */
const ANONYMOUS_LIMIT = 16_384;
const CONSOLE_LIMIT = 65_536;
const SMALL_LIMIT = 1_048_576;

/** Accepts JSON everywhere, and multipart on the routes that allow it. */
export function acceptBodies(server: FastifyInstance, memory: BodyMemory): void {
  server.addHook('onRequest', (request, _reply, done) => {
    mendContentType(request);
    // Discards a body that no handler reads, at a limited pace.
    if (request.method === 'GET' || request.method === 'HEAD') discardBody(request);
    done();
  });
  server.addHook('onResponse', (request, _reply, done) => {
    request.received?.free();
    done();
  });
  server.addHook('onRequestAbort', (request, done) => {
    request.received?.free();
    done();
  });
  takeTypes(server, memory);
}

function mendContentType({ method, headers, is404, routeOptions }: FastifyRequest): void {
  // At an unknown URL, the response is always 404, whatever the content type.
  if (is404) delete headers['content-type'];
  // Fastify rejects a QUERY without one before any route or error of ours.
  if (is404 && method === 'QUERY') headers['content-type'] = 'application/octet-stream';
  // Many clients send a content type without a body.
  if (routeOptions.config.bodyless === true && isEmpty(headers)) delete headers['content-type'];
}

/** Without a length, a request has a body only if it is chunked (RFC 9112, section 6.3). */
function isEmpty(headers: IncomingHttpHeaders): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers;
  return Number(length) === 0 && encoding === undefined;
}

function takeTypes(server: FastifyInstance, memory: BodyMemory): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', (request: FastifyRequest, payload: IncomingMessage) => {
    if (request.routeOptions.config.multipart === 'only') throw formsOnly();
    const encoding = request.headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity') throw unsupported('Compressed request bodies are not supported.');
    const source = { request, payload, limit: jsonLimit(request), memory };
    return request.routeOptions.config.rawBody === true ? readBody(source) : readJsonBody(source);
  });
  server.addContentTypeParser('multipart/form-data', (request: FastifyRequest, _payload, done) => {
    // The controller parses the body as it arrives.
    if (request.routeOptions.config.multipart !== undefined) done(null, undefined);
    else done(unsupported('This URL only accepts application/json.'));
  });
  server.addContentTypeParser(
    'application/x-www-form-urlencoded',
    async (request: FastifyRequest, payload: IncomingMessage) => {
      if (request.routeOptions.config.urlencoded !== true) throw unknownType();
      return new URLSearchParams(await readForm(payload));
    },
  );
  server.addContentTypeParser('*', (request: FastifyRequest, payload: IncomingMessage, done) => {
    if (!request.is404) {
      done(unknownType());
      return;
    }
    discardRest(payload);
    done(null, undefined);
  });
}

/** A form without files, of routes without a key. Throws AppError `request_too_large`. */
async function readForm(payload: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  await collectBody(payload, (chunk) => {
    bytes += chunk.length;
    if (bytes > ANONYMOUS_LIMIT)
      throw new AppError('request_too_large', `The body must have at most ${ANONYMOUS_LIMIT} bytes.`);
    chunks.push(chunk);
  });
  return Buffer.concat(chunks).toString();
}

function jsonLimit(request: FastifyRequest): number {
  const { largeBody, console: isConsole } = request.routeOptions.config;
  if (largeBody === true) return JSON_BODY_LIMIT;
  if (request.caller !== undefined) return SMALL_LIMIT;
  return isConsole === true && request.session !== undefined ? CONSOLE_LIMIT : ANONYMOUS_LIMIT;
}

/** The error for other content types on a route for forms. */
export function formsOnly(): AppError {
  return unsupported('This URL only accepts multipart/form-data.');
}

function unknownType(): AppError {
  return unsupported(
    'The Content-Type of the request is not supported. Send application/json, or multipart/form-data for edits and uploads.',
  );
}

function unsupported(message: string): AppError {
  return new AppError('unsupported_media_type', message);
}

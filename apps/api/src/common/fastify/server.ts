import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyHttpOptions, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { newRequestId } from '#tasks/row/task-id.js';
import { JSON_BODY_LIMIT, type ApiConfig } from '../api.config.js';
import { answerClientError, answerOnSocket, noteResponse } from './client-error.js';
import type { BodyMemory } from './body-memory.js';
import { allowEveryOrigin, answerPreflight, isPreflight } from './cors.js';
import { sendError } from '../error-reply.js';
import { appErrorOf } from '../framework-error.js';
import { readBody, readJsonBody } from './json-body.js';
import { discardBody, discardRest } from '../request-stream.js';
import { plainAddresses } from '../network-of.js';
import { boundPipelining } from './pipelining.js';
import { PublicPath } from './public-path.js';

const MAX_HEADER_BYTES = 16_384;
const HEADERS_TIMEOUT_MS = 15_000;
/** Largest JSON bodies, in bytes: without a session at the console, with one, and on API routes without images. */
const ANONYMOUS_LIMIT = 16_384;
const CONSOLE_LIMIT = 65_536;
const SMALL_LIMIT = 1_048_576;

/**
 * Fastify with our limits, timeouts and error responses (reliability: HTTP server). Of the headers that proxies add,
 * only the caller's address is used, and only from trusted proxies; PUBLIC_URL decides whether links and cookies use
 * https.
 */
export function createAdapter(trustedProxies: string[] = [], publicPath = new PublicPath('')): FastifyAdapter {
  const options: FastifyHttpOptions<Server> & { skipMiddie: true } = {
    logger: false,
    skipMiddie: true,
    trustProxy: trustedProxies.length > 0 && trustedProxies,
    genReqId: newRequestId,
    requestIdHeader: false,
    return503OnClosing: false,
    keepAliveTimeout: 75_000,
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      connectionsCheckingInterval: 5_000,
      requireHostHeader: false,
    },
    // Fastify calls this first, before it looks for the caller's address.
    rewriteUrl: (request: IncomingMessage) => {
      const forwarded = request.headers['x-forwarded-for'];
      // Without proxies it is not read, and a forged one would cost as much as it is long.
      if (trustedProxies.length === 0) delete request.headers['x-forwarded-for'];
      else if (typeof forwarded === 'string') request.headers['x-forwarded-for'] = plainAddresses(forwarded);
      return readableUrl(publicPath.strip(request.url ?? '/'));
    },
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      beginReply(request, reply);
      sendError(appErrorOf(error), request, reply);
    },
    clientErrorHandler: answerClientError,
  };
  return new FastifyAdapter(options);
}

const TASKS = '/v1/tasks/';

/**
 * A task id that can't be decoded is treated as any other unknown id, whatever follows it. The router takes the first
 * character of a URL for a slash, so `*` would otherwise mean `/`.
 */
function readableUrl(url: string): string {
  if (url.startsWith('*')) return `/${url}`;
  if (!url.startsWith(TASKS) || !url.includes('%')) return url;
  const [id = ''] = url.slice(TASKS.length).split(/[/?]/, 1);
  try {
    decodeURIComponent(id);
    return url;
  } catch {
    return `${TASKS}-${url.slice(TASKS.length + id.length)}`;
  }
}

function beginReply(request: FastifyRequest, reply: FastifyReply): void {
  noteResponse(reply.raw);
  // Log, metrics, trace, caller's presence, delivery and the body each wait for its end: Node warns above ten.
  reply.raw.setMaxListeners(20);
  void reply.header('x-request-id', request.id);
  allowEveryOrigin(request, reply);
}

/** Hooks and body parsers for every request, besides authentication. */
export function prepareServer(server: FastifyInstance, config: ApiConfig, memory: BodyMemory): void {
  server.decorateRequest('caller', undefined);
  server.decorateRequest('recheckAccess', undefined);
  server.decorateRequest('taskId', undefined);
  server.decorateRequest('attached', false);
  server.decorateRequest('received', undefined);
  server.addHook('onRequest', (request, reply, done) => {
    beginReply(request, reply);
    closeUnread(reply.raw, config);
    // At an unknown URL, the response is always 404, whatever the content type.
    if (request.is404) delete request.headers['content-type'];
    // Fastify rejects a QUERY without one before any route or error of ours.
    if (request.is404 && request.method === 'QUERY') request.headers['content-type'] = 'application/octet-stream';
    // Many clients send a content type without a body.
    if (request.routeOptions.config.bodyless === true && request.headers['content-length'] === '0') {
      delete request.headers['content-type'];
    }
    // Discards a body that no handler reads, at a limited pace.
    if (request.method === 'GET' || request.method === 'HEAD') discardBody(request);
    if (isPreflight(request)) answerPreflight(request, reply);
    else done();
  });
  server.addHook('onResponse', (request, _reply, done) => {
    request.received?.free();
    done();
  });
  server.addHook('onRequestAbort', (request, done) => {
    request.received?.free();
    done();
  });
  limitArrival(server.server, config);
  boundPipelining(server.server);
  takeBodies(server, memory);
  answerOddRequests(server);
}

/** Limits how long requests may take to arrive; slower ones get 408. */
export function limitArrival(server: Server, { requestTimeoutMs }: Pick<ApiConfig, 'requestTimeoutMs'>): void {
  server.requestTimeout = requestTimeoutMs;
  server.headersTimeout = Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs);
}

/**
 * Closes the connection of a client that stopped reading; one that waits for its response is kept. Each period is half
 * of the time: while something was read, even just before the last period, Node waits for another one.
 */
function closeUnread(response: ServerResponse, { requestTimeoutMs }: Pick<ApiConfig, 'requestTimeoutMs'>): void {
  response.setTimeout(requestTimeoutMs / 2, () => {
    if ((response.socket?.writableLength ?? 0) > 0) response.socket?.destroy();
  });
}

/** Accepts JSON everywhere, and multipart on the routes that allow it. */
function takeBodies(server: FastifyInstance, memory: BodyMemory): void {
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
  server.addContentTypeParser('*', (request: FastifyRequest, payload: IncomingMessage, done) => {
    if (!request.is404) {
      done(
        unsupported(
          'The Content-Type of the request is not supported. Send application/json, or multipart/form-data for edits and uploads.',
        ),
      );
      return;
    }
    discardRest(payload);
    done(null, undefined);
  });
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

function unsupported(message: string): AppError {
  return new AppError('unsupported_media_type', message);
}

function answerOddRequests(server: FastifyInstance): void {
  server.server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    answerOnSocket(new AppError('method_not_allowed', 'CONNECT is not supported.'), socket);
  });
  // Ignores unknown expectations; Node would respond with an empty 417.
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response));
}

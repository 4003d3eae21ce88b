import type { IncomingMessage, Server } from 'node:http';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyHttpOptions, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { newRequestId } from '#tasks/row/task-id.js';
import { acceptBodies } from './accept-bodies.js';
import type { ApiConfig } from '../api.config.js';
import { openAiUrl } from './azure-paths.js';
import { answerClientError, answerOddRequests, noteResponse } from './client-error.js';
import type { BodyMemory } from './body-memory.js';
import { allowEveryOrigin, answerPreflight, isPreflight } from './cors.js';
import { sendError } from '../error-reply.js';
import { appErrorOf } from '../framework-error.js';
import { plainAddresses } from '../network-of.js';
import { readableUrl } from './path-ids.js';
import { boundPipelining } from './pipelining.js';
import { PublicPath } from './public-path.js';
import { closeUnread, limitArrival } from './slow-clients.js';

const MAX_HEADER_BYTES = 16_384;

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
      return readableUrl(openAiUrl(request, publicPath.strip(request.url ?? '/')));
    },
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      beginReply(request, reply);
      sendError(appErrorOf(error), request, reply);
    },
    clientErrorHandler: answerClientError,
  };
  return new FastifyAdapter(options);
}

function beginReply(request: FastifyRequest, reply: FastifyReply): void {
  noteResponse(reply.raw);
  // Log, metrics, trace, caller's presence, delivery and the body each wait for its end: Node warns above ten.
  reply.raw.setMaxListeners(20);
  void reply.header('x-request-id', request.id);
  allowEveryOrigin(request, reply);
}

/** What holds for every request, besides authentication. */
export function prepareServer(server: FastifyInstance, config: ApiConfig, memory: BodyMemory): void {
  server.decorateRequest('caller', undefined);
  server.decorateRequest('recheckAccess', undefined);
  server.decorateRequest('taskId', undefined);
  server.decorateRequest('attached', false);
  server.decorateRequest('received', undefined);
  server.addHook('onRequest', (request, reply, done) => {
    beginReply(request, reply);
    closeUnread(reply.raw, config);
    if (isPreflight(request)) answerPreflight(request, reply);
    else done();
  });
  acceptBodies(server, memory);
  limitArrival(server.server, config);
  boundPipelining(server.server);
  answerOddRequests(server.server);
}

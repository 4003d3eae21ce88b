import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '#telemetry/logger.js';

/** nginx's word for a caller that went away before its answer. */
const CLIENT_GONE = 499;

/**
 * One line per request; reads that went well, polls above all, are debug.
 * The route's pattern is logged, never the address: links carry signatures.
 */
export function logRequests(server: FastifyInstance, logger: Logger): void {
  const write = (request: FastifyRequest, reply: FastifyReply, status: number): void => {
    const clientRequestId = request.headers['x-client-request-id'];
    const level = request.method === 'GET' && status < 400 ? 'debug' : 'info';
    if (level === 'debug' && !logger.debugs) return;
    logger[level]('request', {
      requestId: request.id,
      method: request.method,
      route: request.routeOptions.url ?? 'unknown',
      status,
      durationMs: Math.round(reply.elapsedTime),
      taskId: request.taskId,
      attached: request.attached || undefined,
      keyId: request.caller?.keyId,
      accountId: request.caller?.accountId,
      clientRequestId: typeof clientRequestId === 'string' ? clientRequestId.slice(0, 128) : undefined,
    });
  };
  server.addHook('onResponse', (request, reply, done) => {
    write(request, reply, reply.statusCode);
    done();
  });
  // Fastify's own hook for this ends with the request's body: who waited for an answer and left would not be told of.
  server.addHook('onRequest', (request, reply, done) => {
    reply.raw.once('close', () => {
      if (reply.raw.writableFinished) return;
      logger.info('request.aborted', {
        requestId: request.id,
        route: request.routeOptions.url ?? 'unknown',
        status: CLIENT_GONE,
        durationMs: Math.round(reply.elapsedTime),
        taskId: request.taskId,
        keyId: request.caller?.keyId,
      });
    });
    done();
  });
}

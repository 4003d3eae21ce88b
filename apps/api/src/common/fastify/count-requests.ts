import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Metrics } from '#telemetry/metrics.js';

/** nginx's status for a client that closed the connection before the response. */
const CLIENT_GONE = '499';
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * Counts and times every request by its matched route, never by its URL. Comes before all hooks that reject requests, so
 * that these are counted, too.
 */
export function countRequests(server: FastifyInstance, metrics: Metrics): void {
  const observe = (request: FastifyRequest, reply: FastifyReply, status: string): void => {
    const method = METHODS.has(request.method) ? request.method : 'other';
    const route = request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown');
    metrics.requests.observe({ method, route, status }, reply.elapsedTime / 1_000);
  };
  // Fastify has no hook for a client that disconnects during the response.
  server.addHook('onRequest', (request, reply, done) => {
    reply.raw.once('close', () => {
      observe(request, reply, reply.raw.writableFinished ? String(reply.statusCode) : CLIENT_GONE);
    });
    done();
  });
}

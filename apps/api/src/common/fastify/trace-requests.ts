import type { FastifyInstance } from 'fastify';
import { openSpan } from '#telemetry/spans.js';

/** Reads change nothing, and polls alone would make up most spans. */
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** nginx's status for a client that closed the connection before the response. */
const CLIENT_GONE = 499;

/**
 * Opens a span for every request that changes something, once its caller is known and within its limits, so that floods
 * create no spans. The caller's `traceparent` becomes its parent.
 */
export function traceRequests(server: FastifyInstance): void {
  server.addHook('onRequest', (request, reply, done) => {
    if (READS.has(request.method) || (request.caller === undefined && request.session === undefined)) {
      done();
      return;
    }
    const { traceparent } = request.headers;
    const route = request.routeOptions.url ?? 'unknown';
    const span = openSpan({
      name: `${request.method} ${route}`,
      kind: 'server',
      about: request.id,
      agoMs: reply.elapsedTime,
      parent: typeof traceparent === 'string' ? traceparent : undefined,
      fields: { requestId: request.id, method: request.method, route },
    });
    // Ends the span after the log lines of the response are written.
    reply.raw.once('close', () => {
      const status = reply.raw.writableFinished ? reply.statusCode : CLIENT_GONE;
      if (status >= 500) span.fail(String(status));
      span.end({ status, taskId: request.taskId, attached: request.attached });
    });
    done();
  });
}

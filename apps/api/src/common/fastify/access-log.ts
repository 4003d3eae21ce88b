import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '#telemetry/logger.js';
import { networkOf } from '../network-of.js';
import { RefusalLog } from './refusal-log.js';

/** nginx's status for a client that closed the connection before the response. */
const CLIENT_GONE = 499;
const RATE_LIMITED = 429;

/** Probes ask as often as every second; what they find has log lines of its own. */
const PROBES: ReadonlySet<string | undefined> = new Set(['/healthz', '/readyz']);

/** Statuses of requests whose key is invalid or could not be looked up. */
const REFUSED: ReadonlySet<number> = new Set([401, RATE_LIMITED, 503, CLIENT_GONE]);

/**
 * Logs one line per request; successful reads, mostly polls, and probes are debug. Refusals without a valid key, and a
 * key's above its limits, get one line per network or key, status and minute, plus one that counts the others. Logs the
 * route pattern, never the URL: links carry signatures.
 */
export function logRequests(server: FastifyInstance, logger: Logger): void {
  const refusals = new RefusalLog(logger);
  const isCounted = (request: FastifyRequest, status: number): boolean => {
    const { caller, session, taskId, ip } = request;
    if (caller !== undefined) {
      // With a task, it is the provider's refusal.
      return status === RATE_LIMITED && taskId === undefined && !refusals.isFirst({ keyId: caller.keyId }, status);
    }
    return session === undefined && REFUSED.has(status) && !refusals.isFirst({ network: networkOf(ip) }, status);
  };
  const write = (request: FastifyRequest, reply: FastifyReply, status: number): void => {
    const clientRequestId = request.headers['x-client-request-id'];
    const isRead = request.method === 'GET' && status < 400;
    const level = isRead || PROBES.has(request.routeOptions.url) ? 'debug' : 'info';
    if ((level === 'debug' && !logger.debugs) || isCounted(request, status)) return;
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
  server.addHook('onClose', (_server, done) => {
    refusals.write();
    done();
  });
  // Fastify's own abort hook stops with the request's body, so it would miss callers that disconnect while they wait.
  server.addHook('onRequest', (request, reply, done) => {
    reply.raw.once('close', () => {
      if (reply.raw.writableFinished || isCounted(request, CLIENT_GONE)) return;
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

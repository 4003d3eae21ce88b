import type { FastifyReply, FastifyRequest } from 'fastify';

/** The contract's list, plus what an OpenAI SDK in a browser must read so that it does not repeat a paid call. */
const EXPOSED = [
  ...['x-request-id', 'x-task-id', 'location', 'retry-after', 'retry-after-ms', 'x-should-retry'],
  ...['idempotency-replayed', 'x-ignored-params', 'preference-applied', 'openai-processing-ms'],
  ...['x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests'],
].join(', ');
const METHODS = 'GET, HEAD, POST, DELETE, OPTIONS';
const PREFLIGHT_SECONDS = '86400';

/**
 * Lets any page call the API: keys are sent in a header, never in a cookie, so the origin proves nothing. The console
 * uses a cookie and accepts only its own pages.
 */
export function allowEveryOrigin(request: FastifyRequest, reply: FastifyReply): void {
  if (isOfConsole(request)) return;
  void reply.header('access-control-allow-origin', '*').header('access-control-expose-headers', EXPOSED);
}

/** Whether this is a CORS preflight of the API; the console accepts none. */
export function isPreflight(request: FastifyRequest): boolean {
  return (
    request.method === 'OPTIONS' &&
    request.headers['access-control-request-method'] !== undefined &&
    !isOfConsole(request)
  );
}

/** Allows any header, because the SDKs send a family of their own. */
export function answerPreflight(request: FastifyRequest, reply: FastifyReply): void {
  void reply
    .code(204)
    .header('access-control-allow-methods', METHODS)
    .header('access-control-allow-headers', request.headers['access-control-request-headers'] ?? '*')
    .header('access-control-max-age', PREFLIGHT_SECONDS)
    .header('vary', 'Access-Control-Request-Headers')
    .send();
}

/**
 * A routed request is identified by its route; an unrouted one, such as a preflight, by any spelling that a router
 * might accept.
 */
function isOfConsole({ is404, routeOptions, url }: FastifyRequest): boolean {
  return looksLikeConsole(is404 ? url : (routeOptions.url ?? url));
}

/** Recognizes every spelling: encoded, in upper case, with extra slashes, or with a host in front. */
export function looksLikeConsole(url: string): boolean {
  const [path = ''] = url.replace(/^https?:\/\/[^/]*/i, '').split(/[?#]/, 1);
  return /^[/\\]*console(?:[^\p{L}\p{N}_-]|$)/iu.test(decoded(path));
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

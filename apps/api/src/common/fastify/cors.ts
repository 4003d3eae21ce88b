import type { FastifyReply, FastifyRequest } from 'fastify';

/** The contract's list, and what an OpenAI SDK in a page must see so as not to repeat what was paid for. */
const EXPOSED = [
  ...['x-request-id', 'x-task-id', 'location', 'retry-after', 'retry-after-ms', 'x-should-retry'],
  ...['idempotency-replayed', 'x-ignored-params', 'preference-applied', 'openai-processing-ms'],
  ...['x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests'],
].join(', ');
const METHODS = 'GET, HEAD, POST, OPTIONS';
const PREFLIGHT_SECONDS = '86400';

/**
 * Lets any page call the API: keys travel in a header, never in a cookie, so an origin proves nothing. The console has
 * a cookie, and lets no page in but its own.
 */
export function allowEveryOrigin(request: FastifyRequest, reply: FastifyReply): void {
  if (isOfConsole(request)) return;
  void reply.header('access-control-allow-origin', '*').header('access-control-expose-headers', EXPOSED);
}

/** Whether a browser only asks if a page of another origin may call; the console answers no such page. */
export function isPreflight(request: FastifyRequest): boolean {
  return (
    request.method === 'OPTIONS' &&
    request.headers['access-control-request-method'] !== undefined &&
    !isOfConsole(request)
  );
}

/** Any header may be sent: the SDKs add a family of their own. */
export function answerPreflight(request: FastifyRequest, reply: FastifyReply): void {
  void reply
    .code(204)
    .header('access-control-allow-methods', METHODS)
    .header('access-control-allow-headers', request.headers['access-control-request-headers'] ?? '*')
    .header('access-control-max-age', PREFLIGHT_SECONDS)
    .header('vary', 'Access-Control-Request-Headers')
    .send();
}

/** What was routed is known by its route; what was not, such as a preflight, by whatever a router may make of it. */
function isOfConsole({ is404, routeOptions, url }: FastifyRequest): boolean {
  return looksLikeConsole(is404 ? url : (routeOptions.url ?? url));
}

/** However the address is written: encoded, in capitals, with more slashes than one, or with a host before it. */
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

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import type { ApiKeyCache } from './api-key-cache.js';
import { assertScope, type Caller } from './caller.js';

/**
 * Authenticates every request by its matched route, before its body is read. A route must be marked as public; every
 * other route needs a key. The console's routes use sessions instead. URLs are never compared, so no spelling of one
 * can bypass this.
 */
export function authenticateRequests(server: FastifyInstance, keys: ApiKeyCache): void {
  server.addHook('onRequest', (request, _reply, done) => {
    const { public: isPublic, console: isConsole } = request.routeOptions.config;
    if (request.is404 || isPublic === true || isConsole === true) {
      done();
      return;
    }
    try {
      const caller = keys.caller(authorizationOf(request), request.ip);
      if (!(caller instanceof Promise)) {
        admit(request, caller, keys);
        done();
        return;
      }
      caller.then((found) => admit(request, found, keys)).then(() => done(), done);
    } catch (error) {
      done(error as Error);
    }
  });
}

function admit(request: FastifyRequest, caller: Caller, keys: ApiKeyCache): void {
  const { scope } = request.routeOptions.config;
  if (scope !== 'any') assertScope(caller, scope);
  request.caller = caller;
  request.recheckAccess = async () => {
    const now = await keys.caller(authorizationOf(request), request.ip);
    if (scope !== 'any') assertScope(now, scope);
    // What a key orders is its own, whatever else it may see.
    if (scope === 'tasks' && now.own !== undefined && caller.own === undefined)
      throw new AppError('task_not_found', 'Task not found.');
  };
}

/** The `Authorization` header, or what it would be for a key that is sent as Azure's clients send it. */
function authorizationOf({ headers }: FastifyRequest): string | undefined {
  const { authorization, 'api-key': key } = headers;
  return authorization ?? (typeof key === 'string' ? `Bearer ${key}` : undefined);
}

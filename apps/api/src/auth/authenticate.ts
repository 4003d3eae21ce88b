import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { REGION_HEADER, REGION_NAME } from '#contract/region.js';
import type { ApiKeyCache } from './api-key-cache.js';
import { assertScope, KeyRefused, type Caller } from './caller.js';
import type { LineCallers } from './line-callers.js';

/**
 * Authenticates every request by its matched route, before its body is read. A route must be marked as public; every
 * other route needs a key. The console's routes use sessions instead. URLs are never compared, so no spelling of one
 * can bypass this.
 */
export function authenticateRequests(server: FastifyInstance, keys: ApiKeyCache, lines: LineCallers): void {
  server.addHook('onRequest', (request, _reply, done) => {
    const { public: isPublic, console: isConsole } = request.routeOptions.config;
    if (request.is404 || isPublic === true || isConsole === true) {
      done();
      return;
    }
    try {
      const sender = lines.of(request.headers.authorization);
      if (sender !== undefined) {
        admit(request, sender, () => keys.callerOf(sender.keyId));
        done();
        return;
      }
      const find = () => keys.caller(authorizationOf(request), request.ip);
      const caller = find();
      if (!(caller instanceof Promise)) {
        admit(request, caller, find);
        done();
        return;
      }
      caller.then((found) => admit(request, found, find)).then(() => done(), done);
    } catch (error) {
      done(error as Error);
    }
  });
}

/** The region that the request or its key is pinned to. Throws AppError `invalid_value`. */
function pinOf({ headers }: FastifyRequest, { region }: Caller): string | undefined {
  const sent = headers[REGION_HEADER];
  if (sent === undefined) return region;
  const refuse = (text: string): AppError => new AppError('invalid_value', text, { param: REGION_HEADER });
  if (typeof sent !== 'string' || !new RegExp(REGION_NAME).test(sent)) {
    throw refuse(
      `${REGION_HEADER} must be up to 32 lowercase letters, digits and -, and begin with a letter or digit.`,
    );
  }
  if (region !== undefined && region !== sent) throw refuse(`This API key is pinned to the region ${region}.`);
  return sent;
}

/** `find` looks the caller up again. */
function admit(request: FastifyRequest, caller: Caller, find: () => Caller | Promise<Caller>): void {
  const { scope, accessTokens } = request.routeOptions.config;
  // They are for these routes alone (RFC 8707), whatever the key of the client may be used for.
  if (caller.withToken === true && accessTokens !== true) throw new KeyRefused(caller, 'invalid_api_key');
  // Before anything refuses it, so that refusals are counted for their key.
  request.caller = caller;
  if (scope !== 'any') assertScope(caller, scope);
  const region = pinOf(request, caller);
  request.caller = region === caller.region ? caller : { ...caller, region };
  request.recheckAccess = async () => {
    const now = await find();
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

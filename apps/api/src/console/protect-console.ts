import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { cookiesOf } from './console-cookie.js';
import type { SessionCookie } from './session-cookie.js';
import type { SessionLookUps } from './session-look-ups.js';

/** Prefix of every route of the console's API. */
export const CONSOLE_API = '/console/api';
const CSRF_HEADER = 'x-darkroom-csrf';

/** Marks the console's routes as they are registered; must be called before any route is registered. */
export function markConsole(server: FastifyInstance): void {
  server.decorateRequest('session', undefined);
  server.addHook('onRoute', (route) => {
    if (route.url.startsWith(`${CONSOLE_API}/`)) route.config = { ...route.config, console: true };
  });
}

/**
 * Finds the session of every console request before its body is read, and rejects requests that another site may have
 * sent. Without a session, only public routes respond, and no body is read.
 */
export function protectConsole(
  server: FastifyInstance,
  sessions: SessionLookUps,
  cookie: SessionCookie,
  publicUrl: string,
): void {
  const { origin } = new URL(publicUrl);
  server.addHook('onRequest', (request, reply, done) => {
    if (request.routeOptions.config.console !== true) {
      done();
      return;
    }
    void reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
    if (changes(request) && !isFromOwnPages(request, origin)) {
      done(new AppError('forbidden_origin', 'The console only accepts changes from its own pages.'));
      return;
    }
    findSession(request, cookie, sessions).then(() => done(refusal(request)), done);
  });
}

function changes({ method }: FastifyRequest): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

/**
 * Other sites can't send the header without a preflight, which is never granted, and the browser sets the origin. A
 * page may be open at a local address (localhost, 127.0.0.1) as well as at PUBLIC_URL.
 */
function isFromOwnPages({ headers }: FastifyRequest, publicOrigin: string): boolean {
  const { origin, host } = headers;
  if (headers[CSRF_HEADER] !== '1' || origin === undefined || origin === 'null') return false;
  return origin === publicOrigin || (isLocal(host) && origin === `http://${host}`);
}

/** Whether a host name can only mean this machine, and never another site. */
function isLocal(host: string | undefined): host is string {
  return host !== undefined && /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/.test(host);
}

async function findSession(request: FastifyRequest, cookie: SessionCookie, sessions: SessionLookUps): Promise<void> {
  const token = cookie.read(cookiesOf(request));
  if (token === undefined) return;
  const session = await sessions.find(token, request.ip);
  request.session = session;
  request.recheckAccess = async () => {
    const now = await sessions.find(token, request.ip);
    // Another role sees other tasks; the page opens the stream again.
    if (now?.personId !== session?.personId || now?.role !== session?.role) throw notSignedIn();
  };
}

function refusal(request: FastifyRequest): AppError | undefined {
  return request.routeOptions.config.public !== true && request.session === undefined ? notSignedIn() : undefined;
}

/** The error when there is no session, or it has ended. */
export function notSignedIn(): AppError {
  return new AppError('not_signed_in', 'Sign in to the console first.');
}

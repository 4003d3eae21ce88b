import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Session } from '#accounts/session-store.js';
import { notSignedIn } from './protect-console.js';

/** Requires a session on every console route that is not public. */
@Injectable()
export class SessionGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    if (request.routeOptions.config.public !== true) sessionOf(request);
    return true;
  }
}

/** The session of a request. Throws AppError `not_signed_in` when there is none. */
export function sessionOf(request: FastifyRequest): Session {
  if (request.session === undefined) throw notSignedIn();
  return request.session;
}

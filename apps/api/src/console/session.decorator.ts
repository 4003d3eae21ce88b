import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Session as OpenSession } from '#accounts/session-store.js';
import { sessionOf } from './session.guard.js';

/** Injects the user's session into a handler. */
export const Session = createParamDecorator((_data: unknown, context: ExecutionContext): OpenSession => {
  return sessionOf(context.switchToHttp().getRequest<FastifyRequest>());
});

/** The session of a signed-in user. */
export type Session = OpenSession;

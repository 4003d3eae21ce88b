import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Session as OpenSession } from '#accounts/session-store.js';
import { sessionOf } from './session.guard.js';

/** Hands a handler the session of who uses the console. */
export const Session = createParamDecorator((_data: unknown, context: ExecutionContext): OpenSession => {
  return sessionOf(context.switchToHttp().getRequest<FastifyRequest>());
});

/** Who uses the console. */
export type Session = OpenSession;

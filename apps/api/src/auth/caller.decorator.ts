import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { callerOf, type Caller as AuthenticatedCaller } from './caller.js';

/** Injects the caller into a handler. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): AuthenticatedCaller => {
  return callerOf(context.switchToHttp().getRequest<FastifyRequest>());
});

/** The authenticated caller of a request. */
export type Caller = AuthenticatedCaller;

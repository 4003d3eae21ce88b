import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { callerOf } from './api-key.guard.js';
import type { Caller as AuthenticatedCaller } from './caller.js';

/** Hands a handler its caller. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): AuthenticatedCaller => {
  return callerOf(context.switchToHttp().getRequest<FastifyRequest>());
});

/** Who a request is made for. */
export type Caller = AuthenticatedCaller;

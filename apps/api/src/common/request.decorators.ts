import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { goneSignal } from './gone-signal.js';

/** The id of the request, as logs and `x-request-id` have it. */
export const RequestId = createParamDecorator((_data: unknown, context: ExecutionContext): string => {
  return context.switchToHttp().getRequest<FastifyRequest>().id;
});

/** The query as it was sent, undecoded and with its question mark; empty when there is none. */
export const QueryString = createParamDecorator((_data: unknown, context: ExecutionContext): string => {
  return new URL(context.switchToHttp().getRequest<FastifyRequest>().url, 'http://localhost').search;
});

/** A signal that is aborted when the caller goes away before it was answered. */
export const GoneSignal = createParamDecorator((_data: unknown, context: ExecutionContext): AbortSignal => {
  return goneSignal(context.switchToHttp().getResponse<FastifyReply>());
});

import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { goneSignal } from './gone-signal.js';

/** The request id, as in logs and `x-request-id`. */
export const RequestId = createParamDecorator((_data: unknown, context: ExecutionContext): string => {
  return context.switchToHttp().getRequest<FastifyRequest>().id;
});

/** The raw query string with its question mark; empty when there is none. */
export const QueryString = createParamDecorator((_data: unknown, context: ExecutionContext): string => {
  return new URL(context.switchToHttp().getRequest<FastifyRequest>().url, 'http://localhost').search;
});

/** A signal that aborts when the caller disconnects before the response is sent. */
export const GoneSignal = createParamDecorator((_data: unknown, context: ExecutionContext): AbortSignal => {
  return goneSignal(context.switchToHttp().getResponse<FastifyReply>());
});

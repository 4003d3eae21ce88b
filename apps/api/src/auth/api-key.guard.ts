import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { invalidKey } from './api-key-store.js';
import type { Caller } from './caller.js';

/** Marks a route that anyone may call. */
export const Public = (): MethodDecorator => RouteConfig({ public: true });

/**
 * No handler runs without a caller unless it is public. The key itself is checked before the body is read
 * (authenticate.ts); this refuses should a route ever be reached without that.
 */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const { public: isPublic, console: isConsole } = request.routeOptions.config;
    if (isPublic !== true && isConsole !== true) callerOf(request);
    return true;
  }
}

/** The authenticated caller of a request. Throws AppError `invalid_api_key` when there is none. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === undefined) throw invalidKey();
  return request.caller;
}

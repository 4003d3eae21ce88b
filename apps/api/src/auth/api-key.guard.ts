import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { callerOf } from './caller.js';

/** Marks a route that needs no API key. */
export const Public = (): MethodDecorator => RouteConfig({ public: true });

/**
 * Requires a caller on every route that is not public. The key itself is checked before the body is read
 * (authenticate.ts); this guard covers any route that was ever reached without that check.
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

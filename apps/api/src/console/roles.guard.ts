import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import type { Role } from '#people/person-store.js';
import { sessionOf } from './session.guard.js';

/** The role a handler, or a whole controller, is for. */
export const ForRole = Reflector.createDecorator<Role>();

/** Lets admins alone to what is for admins. */
@Injectable()
export class RolesGuard implements CanActivate {
  constructor(@Inject(Reflector) private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const role = this.reflector.getAllAndOverride(ForRole, [context.getHandler(), context.getClass()]);
    if (role !== 'admin') return true;
    const { role: own } = sessionOf(context.switchToHttp().getRequest<FastifyRequest>());
    if (own !== 'admin') throw new AppError('not_permitted', 'This is for admins only.');
    return true;
  }
}

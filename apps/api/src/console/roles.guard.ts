import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { DEFAULT_ACCOUNT } from '#accounts/api-keys.js';
import type { Role } from '#accounts/person-rules.js';
import type { Session } from '#accounts/session-store.js';
import { sessionOf } from './session.guard.js';

/**
 * Who a handler, or a whole controller, is for. Operators are the admins of the first account: what concerns the whole
 * installation is no matter of other accounts.
 */
export const ForRole = Reflector.createDecorator<Role | 'operator'>();

/** Lets admins alone to what is for admins, and operators alone to what is for them. */
@Injectable()
export class RolesGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const role = this.reflector.getAllAndOverride(ForRole, [context.getHandler(), context.getClass()]);
    if (role !== 'admin' && role !== 'operator') return true;
    const session = sessionOf(context.switchToHttp().getRequest<FastifyRequest>());
    if (role === 'admin' ? session.role === 'admin' : isOperator(session)) return true;
    throw new AppError('not_permitted', `This is for ${role}s only.`);
  }
}

/** Whether somebody looks after the whole installation. */
export function isOperator({ role, accountId }: Session): boolean {
  return role === 'admin' && accountId === DEFAULT_ACCOUNT;
}

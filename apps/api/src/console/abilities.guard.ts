import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { SignInConfig } from '#accounts/accounts.config.js';
import type { Session } from '#accounts/session-store.js';
import { ABILITIES, may, type Ability } from '#accounts/person-rules.js';
import { sessionOf } from './session.guard.js';

/** What a handler, or all of a controller, needs its user to be allowed to do. Those with neither this nor `@Public` refuse everyone. */
export const Allow = Reflector.createDecorator<Ability>();

/** Lets in whose role has the ability that the handler names. */
@Injectable()
export class AbilitiesGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly config: SignInConfig,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    if (request.routeOptions.config.public === true) return true;
    const ability = this.reflector.getAllAndOverride<Ability | undefined>(Allow.KEY, [
      context.getHandler(),
      context.getClass(),
    ]);
    const session = sessionOf(request);
    if (ability === undefined || !may(session, ability)) throw new AppError('not_permitted', refusal(ability));
    if (ability !== 'self.manage' && mustSetUpTwoFactor(session, this.config))
      throw new AppError('two_factor_required', 'Your account requires two-factor authentication. Turn it on first.');
    return true;
  }
}

/** Whether somebody has to turn on two-factor authentication before anything else; where nobody signs in with a password, nobody has. */
export function mustSetUpTwoFactor({ lacksTwoFactor }: Session, { passwordSignIn }: SignInConfig): boolean {
  return lacksTwoFactor && passwordSignIn;
}

function refusal(ability: Ability | undefined): string {
  if (ability === 'installation.manage') return 'This is for operators only.';
  const isForAdmins =
    ability === undefined || ABILITIES[ability].roles.every((role) => ['owner', 'admin'].includes(role));
  return isForAdmins
    ? 'This is for owners and admins only.'
    : 'Your role does not include this. Ask an owner or admin to change your role.';
}

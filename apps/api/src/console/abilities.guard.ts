import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { SignInConfig } from '#accounts/accounts.config.js';
import { AuditLog } from '#accounts/audit-log.js';
import type { Session } from '#accounts/session-store.js';
import { ABILITIES, may, type Ability } from '#accounts/person-rules.js';
import { Logger } from '#telemetry/logger.js';
import { sessionOf } from './session.guard.js';

/**
 * The ability that a handler, or all handlers of a controller, requires. Without it or `@Public`, a handler rejects
 * everyone.
 */
export const Allow = Reflector.createDecorator<Ability>();

/** The same refusal of one user within this time makes one audit entry. */
const QUIET_MS = 900_000;

/** Admits users whose role has the required ability; records whom it refuses. */
@Injectable()
export class AbilitiesGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly config: SignInConfig,
    private readonly audit: AuditLog,
    private readonly logger: Logger,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    if (request.routeOptions.config.public === true) return true;
    const ability = this.reflector.getAllAndOverride<Ability | undefined>(Allow.KEY, [
      context.getHandler(),
      context.getClass(),
    ]);
    const session = sessionOf(request);
    if (ability === undefined || !may(session, ability)) {
      this.note(session, request);
      throw new AppError('not_permitted', refusal(ability));
    }
    if (ability !== 'self.manage' && mustSetUpTwoFactor(session, this.config))
      throw new AppError('two_factor_required', 'Your account requires two-factor authentication. Turn it on first.');
    return true;
  }

  /** In the background: a refusal does not wait for the log. */
  private note({ accountId, personId, name, email }: Session, { method, routeOptions }: FastifyRequest): void {
    const asked = `${method} ${routeOptions.url ?? ''}`;
    const details = { request: asked, name, email };
    this.audit
      .writeOncePer(
        { accountId, personId, action: 'request.refused', target: `${personId} ${asked}`, details },
        QUIET_MS,
      )
      .catch((error: unknown) => this.logger.warn('audit.not_written', { error }));
  }
}

/** Whether the user must turn on two-factor authentication before anything else; never when password sign-in is off. */
export function mustSetUpTwoFactor({ lacksTwoFactor }: Session, { passwordSignIn }: SignInConfig): boolean {
  return lacksTwoFactor && passwordSignIn;
}

function refusal(ability: Ability | undefined): string {
  if (ability === 'installation.manage') return 'Only operators can do this.';
  const isForAdmins =
    ability === undefined || ABILITIES[ability].roles.every((role) => ['owner', 'admin'].includes(role));
  return isForAdmins
    ? 'Only owners and admins can do this.'
    : 'Your role does not include this. Ask an owner or admin to change your role.';
}

import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { sessionOf } from './session.guard.js';

/** How long a sign-in, or a confirmed password, counts as a proof. */
const FRESH_MS = 300_000;

/**
 * Admits users who have just signed in or confirmed their password (`POST session/proof`), to what changes how they sign
 * in: a session alone may be stolen. Throws AppError `proof_required` otherwise.
 */
@Injectable()
export class ProofGuard implements CanActivate {
  canActivate(context: ExecutionContext): true {
    const { provenAt } = sessionOf(context.switchToHttp().getRequest<FastifyRequest>());
    const age = Date.now() - provenAt.getTime();
    if (age <= FRESH_MS) return true;
    throw new AppError('proof_required', 'Confirm your password first, or sign out and in again.');
  }
}

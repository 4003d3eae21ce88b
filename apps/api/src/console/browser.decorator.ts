import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Session } from '#accounts/session-store.js';

/** Hands a handler the browser that it signs in. */
export const Browser = createParamDecorator((_data: unknown, context: ExecutionContext): Browser => {
  const { ip: address, headers, session } = context.switchToHttp().getRequest<FastifyRequest>();
  return { address, userAgent: headers['user-agent'] ?? '', session };
});

/** Where a sign-in comes from. */
export interface Browser {
  readonly address: string;
  readonly userAgent: string;
  /** The session it had until now. */
  readonly session: Session | undefined;
}

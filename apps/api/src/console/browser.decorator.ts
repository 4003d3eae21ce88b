import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Session } from '#accounts/session-store.js';

/** Injects the browser that signs in into a handler. */
export const Browser = createParamDecorator((_data: unknown, context: ExecutionContext): Browser => {
  const { ip: address, headers, session } = context.switchToHttp().getRequest<FastifyRequest>();
  return { address, userAgent: headers['user-agent'] ?? '', session };
});

/** The browser of a sign-in. */
export interface Browser {
  readonly address: string;
  readonly userAgent: string;
  /** Its session until now. */
  readonly session: Session | undefined;
}

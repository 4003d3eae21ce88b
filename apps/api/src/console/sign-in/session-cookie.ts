import type { FastifyReply, FastifyRequest } from 'fastify';
import { MAX_AGE_DAYS } from '#people/session-store.js';

const NAME = 'darkroom_session';
/** Longer texts can't be tokens of ours. */
const MAX_TOKEN_LENGTH = 64;

/** The session token a browser sent. */
export function readSessionCookie({ server, headers }: FastifyRequest): string | undefined {
  const token = headers.cookie === undefined ? undefined : server.parseCookie(headers.cookie)[NAME];
  return token === undefined || token.length > MAX_TOKEN_LENGTH ? undefined : token;
}

/** No script reads it, no other site sends it, and the public API never sees it. */
export function setSessionCookie(reply: FastifyReply, token: string, secure: boolean): void {
  void reply.setCookie(NAME, token, { ...attributes(secure), maxAge: MAX_AGE_DAYS * 86_400 });
}

export function clearSessionCookie(reply: FastifyReply, secure: boolean): void {
  void reply.clearCookie(NAME, attributes(secure));
}

function attributes(secure: boolean) {
  return { path: '/console', httpOnly: true, sameSite: 'strict', secure } as const;
}

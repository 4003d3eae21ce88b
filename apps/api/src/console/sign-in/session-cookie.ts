import type { FastifyReply, FastifyRequest } from 'fastify';
import { MAX_AGE_DAYS } from '#people/session-store.js';
import { ConsoleCookie } from './console-cookie.js';

/** Longer texts can't be tokens of ours. */
const MAX_TOKEN_LENGTH = 64;

/** The cookie with a session's token; no other site sends it. */
export class SessionCookie {
  private readonly cookie: ConsoleCookie;

  constructor(publicUrl: string) {
    this.cookie = new ConsoleCookie(publicUrl, 'darkroom_session', { path: '/console', sameSite: 'strict' });
  }

  /** The session token a browser sent. */
  read(request: FastifyRequest): string | undefined {
    const token = this.cookie.read(request);
    return token === undefined || token.length > MAX_TOKEN_LENGTH ? undefined : token;
  }

  set(reply: FastifyReply, token: string): void {
    this.cookie.set(reply, token, MAX_AGE_DAYS * 86_400);
  }

  clear(reply: FastifyReply): void {
    this.cookie.clear(reply);
  }
}

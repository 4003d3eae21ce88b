import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { MAX_AGE_DAYS } from '#accounts/session-store.js';
import { ApiConfig, publicUrlOf } from '../common/api.config.js';
import { clearCookie, consoleCookie, readCookie, setCookie, type ConsoleCookie } from './console-cookie.js';

/** Longer texts can't be tokens of ours. */
const MAX_TOKEN_LENGTH = 64;

/** The cookie with a session's token; no other site sends it. */
@Injectable()
export class SessionCookie {
  private readonly cookie: ConsoleCookie;

  constructor(config: ApiConfig) {
    this.cookie = consoleCookie(publicUrlOf(config), 'darkroom_session', { path: '/console', sameSite: 'strict' });
  }

  /** The session token a browser sent. */
  read(request: FastifyRequest): string | undefined {
    const token = readCookie(request, this.cookie);
    return token === undefined || token.length > MAX_TOKEN_LENGTH ? undefined : token;
  }

  set(reply: FastifyReply, token: string): void {
    setCookie(reply, this.cookie, token, MAX_AGE_DAYS * 86_400);
  }

  clear(reply: FastifyReply): void {
    clearCookie(reply, this.cookie);
  }
}

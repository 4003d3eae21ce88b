import { Injectable } from '@nestjs/common';
import { MAX_AGE_DAYS } from '#accounts/session-store.js';
import { ApiConfig, publicUrlOf } from '../common/api.config.js';
import { consoleCookie, setCookie, type ConsoleCookie, type CookieChange, type Cookies } from './console-cookie.js';

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
  read(cookies: Cookies): string | undefined {
    const token = cookies[this.cookie.name];
    return token === undefined || token.length > MAX_TOKEN_LENGTH ? undefined : token;
  }

  set(token: string): CookieChange {
    return setCookie(this.cookie, token, MAX_AGE_DAYS * 86_400);
  }

  clear(): CookieChange {
    return { ...this.cookie, value: null };
  }
}

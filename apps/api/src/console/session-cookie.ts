import { Injectable } from '@nestjs/common';
import { MAX_AGE_DAYS } from '#accounts/session-store.js';
import { ApiConfig, publicUrlOf } from '../common/api.config.js';
import { consoleCookie, setCookie, type ConsoleCookie, type CookieChange, type Cookies } from './console-cookie.js';

/** The cookie with the session token; other sites can't send it. */
@Injectable()
export class SessionCookie {
  private readonly cookie: ConsoleCookie;

  constructor(config: ApiConfig) {
    this.cookie = consoleCookie(publicUrlOf(config), 'darkroom_session', { path: '/console', sameSite: 'strict' });
  }

  /** The session token in the browser's cookies. */
  read(cookies: Cookies): string | undefined {
    return cookies[this.cookie.name];
  }

  set(token: string): CookieChange {
    return setCookie(this.cookie, token, MAX_AGE_DAYS * 86_400);
  }

  clear(): CookieChange {
    return { ...this.cookie, value: null };
  }
}

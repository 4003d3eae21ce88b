import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { hashed } from '#limits/attempt-limiter.js';
import { ApiConfig, publicUrlOf } from '../../common/api.config.js';
import { consoleCookie, type ConsoleCookie, type CookieChange, type Cookies } from '../console-cookie.js';
import { CONSOLE_API } from '../protect-console.js';
import { SealedCookies } from './sealed-cookies.js';

const PURPOSE = 'known browser';
const KEPT_DAYS = 180;
/** Users of one browser; the longest unused is forgotten. */
const MAX_USERS = 5;

interface KnownBrowser {
  readonly id: string;
  /** Digests of the email addresses that have signed in, the latest first. */
  readonly users: readonly string[];
}

/**
 * Remembers which users have signed in with a password or a passkey in a browser. It signs no one in: it only gives the browser its
 * own budget of attempts, so that strangers who use up the user's do not lock the user out.
 */
@Injectable()
export class KnownBrowserCookie {
  private readonly cookie: ConsoleCookie;

  constructor(
    private readonly sealed: SealedCookies,
    config: ApiConfig,
  ) {
    const scope = { path: `${CONSOLE_API}/sign-in`, sameSite: 'strict' } as const;
    this.cookie = consoleCookie(publicUrlOf(config), 'darkroom_browser', scope);
  }

  /** The id of a browser in which this address has signed in; undefined for any other. */
  read(cookies: Cookies, email: string): string | undefined {
    const known = this.sealed.read<KnownBrowser>(this.cookie, PURPOSE, cookies);
    return known?.users.includes(hashed(email)) === true ? known.id : undefined;
  }

  /** The id of a browser in which anybody has signed in, for a passkey, which comes before the address is known. */
  readAny(cookies: Cookies): string | undefined {
    return this.sealed.read<KnownBrowser>(this.cookie, PURPOSE, cookies)?.id;
  }

  /** After a complete sign-in of this address. */
  add(cookies: Cookies, email: string): CookieChange {
    const known = this.sealed.read<KnownBrowser>(this.cookie, PURPOSE, cookies);
    const user = hashed(email);
    const users = [user, ...(known?.users ?? []).filter((one) => one !== user)].slice(0, MAX_USERS);
    const kept = { id: known?.id ?? randomBytes(16).toString('base64url'), users };
    return this.sealed.set(this.cookie, PURPOSE, kept, KEPT_DAYS * 24 * 60);
  }
}

import { Injectable } from '@nestjs/common';
import type { Checks } from '#accounts/openid-provider.js';
import { ApiConfig, publicUrlOf } from '../../common/api.config.js';
import { CONSOLE_API } from '../protect-console.js';
import { consoleCookie, type ConsoleCookie, type CookieChange, type Cookies } from '../console-cookie.js';
import { SealedCookies } from './sealed-cookies.js';

const PURPOSE = 'cookie';

/** A sign-in that a browser has started at the provider. */
export interface PendingSignIn {
  readonly checks: Checks;
  /** The token of the one-time link that it started from. */
  readonly link: string | null;
}

/**
 * Keeps the sign-in in the browser: encrypted, because it contains secrets; `lax`, because the callback is a navigation
 * from another site. With plain http, it is sent only to the callback.
 */
@Injectable()
export class PendingSignInCookie {
  private readonly cookie: ConsoleCookie;

  constructor(
    private readonly sealed: SealedCookies,
    config: ApiConfig,
  ) {
    const scope = { path: `${CONSOLE_API}/oidc`, sameSite: 'lax' } as const;
    this.cookie = consoleCookie(publicUrlOf(config), 'darkroom_openid', scope);
  }

  set(pending: PendingSignIn): CookieChange {
    return this.sealed.set(this.cookie, PURPOSE, pending);
  }

  clear(): CookieChange {
    return { ...this.cookie, value: null };
  }

  /** Undefined when there is no valid cookie, or it has expired. */
  read(cookies: Cookies): PendingSignIn | undefined {
    return this.sealed.read(this.cookie, PURPOSE, cookies);
  }
}

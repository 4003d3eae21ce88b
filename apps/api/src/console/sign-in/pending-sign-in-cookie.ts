import { Injectable } from '@nestjs/common';
import type { Checks } from '#accounts/openid-provider.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { ApiConfig, publicUrlOf } from '../../common/api.config.js';
import { CONSOLE_API } from '../protect-console.js';
import { consoleCookie, setCookie, type ConsoleCookie, type CookieChange, type Cookies } from '../console-cookie.js';

const MINUTES = 10;
/** Longer texts can't be ours. */
const MAX_LENGTH = 2_000;
/** What TextSealer binds the text to. */
const ROW = 'cookie';

/** A sign-in that a browser has started at the provider. */
export interface PendingSignIn {
  readonly checks: Checks;
  /** The token of the one-time link that it started from. */
  readonly link: string | null;
}

/**
 * What the browser keeps meanwhile: sealed, because it holds secrets. Lax, because the way back is a navigation from
 * another site; under plain http nothing but the way back gets to see it.
 */
@Injectable()
export class PendingSignInCookie {
  private readonly cookie: ConsoleCookie;

  constructor(
    private readonly sealer: TextSealer,
    config: ApiConfig,
  ) {
    const scope = { path: `${CONSOLE_API}/oidc`, sameSite: 'lax' } as const;
    this.cookie = consoleCookie(publicUrlOf(config), 'darkroom_openid', scope);
  }

  set(pending: PendingSignIn): CookieChange {
    const { keyId, sealed } = this.sealer.seal(
      ROW,
      JSON.stringify({ ...pending, until: Date.now() + MINUTES * 60_000 }),
    );
    const value = `${keyId}.${sealed.toString('base64url')}`;
    return setCookie(this.cookie, value, MINUTES * 60);
  }

  clear(): CookieChange {
    return { ...this.cookie, value: null };
  }

  /** Undefined when there is none of ours, or it is too old. */
  read(cookies: Cookies): PendingSignIn | undefined {
    const text = cookies[this.cookie.name];
    if (text === undefined || text.length > MAX_LENGTH) return undefined;
    const [keyId = '', sealed = ''] = text.split('.');
    try {
      const opened = this.sealer.open(ROW, { keyId, sealed: Buffer.from(sealed, 'base64url') });
      const { until, ...pending } = JSON.parse(opened) as PendingSignIn & { until: number };
      return until > Date.now() ? pending : undefined;
    } catch {
      return undefined;
    }
  }
}

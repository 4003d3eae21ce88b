import { Injectable } from '@nestjs/common';
import { PasskeyStore } from '#accounts/passkey-store.js';
import { ApiConfig, publicUrlOf } from '../../common/api.config.js';
import { consoleCookie, type ConsoleCookie, type CookieChange, type Cookies } from '../console-cookie.js';
import { CONSOLE_API } from '../protect-console.js';
import { SealedCookies } from './sealed-cookies.js';

const MINUTES = 5;

/** The purpose of a challenge: a sign-in, or a new passkey of a signed-in user. */
type Purpose = 'passkey sign-in' | `passkey of ${string}`;

/**
 * Challenges that authenticators sign. Each is known only to the browser that asked for it, expires after five minutes,
 * and works once.
 */
@Injectable()
export class ChallengeCookie {
  private readonly cookie: ConsoleCookie;

  constructor(
    private readonly sealed: SealedCookies,
    private readonly passkeys: PasskeyStore,
    config: ApiConfig,
  ) {
    const scope = { path: CONSOLE_API, sameSite: 'strict' } as const;
    this.cookie = consoleCookie(publicUrlOf(config), 'darkroom_passkey', scope);
  }

  set(purpose: Purpose, challenge: string): CookieChange {
    return this.sealed.set(this.cookie, purpose, { challenge }, MINUTES);
  }

  clear(): CookieChange {
    return { ...this.cookie, value: null };
  }

  /** Consumes this browser's challenge; undefined when there is none, or it has expired or was used. */
  async take(purpose: Purpose, cookies: Cookies): Promise<string | undefined> {
    const kept = this.sealed.read<{ challenge: string }>(this.cookie, purpose, cookies);
    if (kept === undefined) return undefined;
    const over = new Date(Date.now() + MINUTES * 60_000);
    return (await this.passkeys.useChallenge(kept.challenge, over)) ? kept.challenge : undefined;
  }
}

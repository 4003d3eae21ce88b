import { Injectable } from '@nestjs/common';
import { PasskeyStore } from '#accounts/passkey-store.js';
import { ApiConfig, publicUrlOf } from '../../common/api.config.js';
import { consoleCookie, type ConsoleCookie, type CookieChange, type Cookies } from '../console-cookie.js';
import { CONSOLE_API } from '../protect-console.js';
import { SealedCookies } from '../sign-in/sealed-cookies.js';

const MINUTES = 5;

/** What a challenge was made for: a sign-in, or a new passkey of somebody who is signed in. */
type Purpose = 'passkey sign-in' | `passkey of ${string}`;

/** Challenges that authenticators sign. Each is known by the browser alone that asked for it, for five minutes, and taken once. */
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

  /** Uses up the challenge of this browser; undefined when it has none, or it is too old, or was used. */
  async take(purpose: Purpose, cookies: Cookies): Promise<string | undefined> {
    const kept = this.sealed.read<{ challenge: string }>(this.cookie, purpose, cookies);
    if (kept === undefined) return undefined;
    const over = new Date(Date.now() + MINUTES * 60_000);
    return (await this.passkeys.useChallenge(kept.challenge, over)) ? kept.challenge : undefined;
  }
}

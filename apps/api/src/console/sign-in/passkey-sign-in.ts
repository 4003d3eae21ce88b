import { Injectable } from '@nestjs/common';
import { PasskeyStore, type KnownPasskey } from '#accounts/passkey-store.js';
import { AppError } from '#contract/app-error.js';
import type { Cookies } from '../console-cookie.js';
import { FailedSignIns } from './failed-sign-ins.js';
import { KnownBrowserCookie } from './known-browser-cookie.js';
import { SignInLimits } from './sign-in-limits.js';
import { ChallengeCookie } from './challenge-cookie.js';
import type { AuthenticationResponse } from './dto/passkeys.dto.js';
import { WebAuthn, type CeremonyOptions } from './web-authn.js';

/** The logic of signing in with a passkey, without HTTP. */
@Injectable()
export class PasskeySignIn {
  constructor(
    private readonly passkeys: PasskeyStore,
    private readonly webAuthn: WebAuthn,
    private readonly challenges: ChallengeCookie,
    private readonly limits: SignInLimits,
    private readonly knownBrowser: KnownBrowserCookie,
    private readonly failures: FailedSignIns,
  ) {}

  /** Throws AppError: `rate_limit_exceeded`, `not_permitted`. */
  async begin(address: string, cookies: Cookies): Promise<CeremonyOptions> {
    await this.limits.admitStart(address, this.knownBrowser.readAny(cookies));
    return await this.webAuthn.authenticationOptions();
  }

  /**
   * Returns the passkey's owner. Throws AppError: `rate_limit_exceeded`, and `sign_in_failed` for every other cause.
   */
  async finish(address: string, cookies: Cookies, response: AuthenticationResponse): Promise<KnownPasskey['person']> {
    await this.limits.admitPasskey(address, this.knownBrowser.readAny(cookies));
    const challenge = await this.challenges.take('passkey sign-in', cookies);
    if (challenge === undefined) throw refused();
    const passkey = await this.passkeys.forSignIn(response.id);
    if (passkey === undefined) throw refused();
    const read = await this.webAuthn.verifyAuthentication(response, challenge, passkey);
    if (read !== undefined && (await this.passkeys.noteUse(passkey, read.counter, read.synced))) return passkey.person;
    this.failures.note(passkey.person, 'person.passkey_refused');
    throw refused();
  }
}

/** The same error for every cause, so that it reveals nothing about users. */
function refused(): AppError {
  return new AppError('sign_in_failed', 'This passkey was not accepted. Try again, or sign in with your password.');
}

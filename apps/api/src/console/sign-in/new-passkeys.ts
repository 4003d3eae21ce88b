import { Injectable } from '@nestjs/common';
import { MAX_PASSKEYS, PasskeyStore } from '#accounts/passkey-store.js';
import type { Session } from '#accounts/session-store.js';
import { AppError } from '#contract/app-error.js';
import type { Cookies } from '../console-cookie.js';
import { WithCookies } from '../cookies.interceptor.js';
import { notSignedIn } from '../protect-console.js';
import { PasswordSignIn } from './password-sign-in.js';
import { ChallengeCookie } from './challenge-cookie.js';
import { passkeyView, type NewPasskeyBody, type PasskeyOptionsView, type PasskeyView } from './dto/passkeys.dto.js';
import { WebAuthn } from './web-authn.js';

/**
 * Adds passkeys for signed-in users. A session alone is not enough, so that an attacker with a stolen session can't
 * gain permanent access.
 */
@Injectable()
export class NewPasskeys {
  constructor(
    private readonly passkeys: PasskeyStore,
    private readonly passwords: PasswordSignIn,
    private readonly webAuthn: WebAuthn,
    private readonly challenges: ChallengeCookie,
  ) {}

  /** Throws AppError: `sign_in_failed` for a wrong password, `account_limit_reached`, `not_permitted`. */
  async begin(address: string, session: Session, password: string): Promise<WithCookies<PasskeyOptionsView>> {
    await this.passwords.verifyPassword(address, session, password);
    const known = await this.passkeys.credentials(session.signInId);
    if (known.length >= MAX_PASSKEYS)
      throw new AppError('account_limit_reached', `You already have ${MAX_PASSKEYS} passkeys. Remove one first.`);
    const options = await this.webAuthn.registrationOptions(
      session,
      await this.passkeys.userHandle(session.signInId),
      known,
    );
    return new WithCookies({ options }, [this.challenges.set(`passkey of ${session.id}`, options.challenge)]);
  }

  /**
   * Throws AppError: `invalid_value` for a wrong or late response, `already_exists`, `not_signed_in` when the session
   * has just ended.
   */
  async finish(
    session: Session,
    cookies: Cookies,
    { name, response }: NewPasskeyBody,
  ): Promise<WithCookies<PasskeyView>> {
    const challenge = await this.challenges.take(`passkey of ${session.id}`, cookies);
    const credential = challenge && (await this.webAuthn.verifyRegistration(response, challenge));
    if (!credential) {
      throw new AppError('invalid_value', 'This passkey was not accepted. Try again.', { param: 'response' });
    }
    const passkey = await this.passkeys.add(session, name, credential);
    if (passkey === undefined) throw notSignedIn();
    if (passkey === 'known') throw new AppError('already_exists', 'This passkey is already added.');
    return new WithCookies(passkeyView(passkey), [this.challenges.clear()]);
  }
}

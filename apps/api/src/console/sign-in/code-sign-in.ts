import { Injectable } from '@nestjs/common';
import { PersonStore } from '#accounts/person-store.js';
import { AppError } from '#contract/app-error.js';
import type { Browser } from '../browser.decorator.js';
import type { Cookies } from '../console-cookie.js';
import { WithCookies } from '../cookies.interceptor.js';
import type { SessionView } from './dto/session-views.dto.js';
import { OpenSession } from './open-session.js';
import { signInFailed } from './password-sign-in.js';
import { KnownBrowserCookie } from './known-browser-cookie.js';
import { SecondStepCookie } from './second-step-cookie.js';
import { CodeCheck } from './code-check.js';

/** The second step of a sign-in, after the password. */
@Injectable()
export class CodeSignIn {
  constructor(
    private readonly people: PersonStore,
    private readonly check: CodeCheck,
    private readonly session: OpenSession,
    private readonly cookie: SecondStepCookie,
    private readonly knownBrowser: KnownBrowserCookie,
  ) {}

  /** Throws AppError: `sign_in_failed` for a wrong code, `not_signed_in` when the password must be entered again. */
  async finish(browser: Browser, cookies: Cookies, code: string): Promise<WithCookies<SessionView>> {
    const step = this.cookie.read(cookies);
    if (step === undefined) throw new AppError('not_signed_in', 'You took too long to enter the code. Sign in again.');
    const person = await this.people.find(step.accountId, step.personId);
    if (person === undefined) throw signInFailed();
    if (person.credentialsDigest !== step.credentialsDigest) {
      throw new AppError('not_signed_in', 'Your password has changed. Sign in again.');
    }
    const known = this.knownBrowser.read(cookies, person.email);
    const details = { second_factor: await this.check.take(browser.address, person, code, known) };
    const { body, cookies: opened } = await this.session.open(browser, person, step.action, details);
    return new WithCookies(body, [...opened, this.cookie.clear(), this.knownBrowser.add(cookies, person.email)]);
  }
}

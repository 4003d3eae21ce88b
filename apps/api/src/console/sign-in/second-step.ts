import { Injectable } from '@nestjs/common';
import type { AuditAction } from '#accounts/audit-actions.js';
import type { Person } from '#accounts/person-store.js';
import { SecondFactorStore } from '#accounts/second-factor-store.js';
import type { Browser } from '../browser.decorator.js';
import type { Cookies } from '../console-cookie.js';
import { WithCookies } from '../cookies.interceptor.js';
import type { SecondStepView, SessionView } from './dto/session-views.dto.js';
import { FailedSignIns } from './failed-sign-ins.js';
import { KnownBrowserCookie } from './known-browser-cookie.js';
import { OpenSession } from './open-session.js';
import { SecondStepCookie } from './second-step-cookie.js';

/** The step after a correct password: a session, or a request for a code. */
@Injectable()
export class SecondStep {
  constructor(
    private readonly session: OpenSession,
    private readonly factors: SecondFactorStore,
    private readonly cookie: SecondStepCookie,
    private readonly knownBrowser: KnownBrowserCookie,
    private readonly failures: FailedSignIns,
  ) {}

  /** Throws AppError `sign_in_failed` for a disabled user or account. */
  async open(
    browser: Browser,
    cookies: Cookies,
    person: Person,
    action: AuditAction,
  ): Promise<WithCookies<SessionView | SecondStepView>> {
    const { since } = await this.factors.state(person.signInId);
    if (since === null) {
      const { body, cookies: opened } = await this.session.open(browser, person, action);
      return new WithCookies(body, [...opened, this.knownBrowser.add(cookies, person.email)]);
    }
    // A sign-in that stops before the code leaves no other trace.
    this.failures.note(person, 'person.code_asked');
    const { id: personId, accountId, credentialsDigest } = person;
    const step = { personId, accountId, credentialsDigest, action };
    return new WithCookies({ second_step: true }, [this.cookie.set(step)]);
  }
}

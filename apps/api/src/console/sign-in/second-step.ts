import { Injectable } from '@nestjs/common';
import type { AuditAction } from '#accounts/audit-actions.js';
import type { Person } from '#accounts/person-store.js';
import { SecondFactorStore } from '#accounts/second-factor-store.js';
import type { Browser } from '../browser.decorator.js';
import { WithCookies } from '../cookies.interceptor.js';
import type { SecondStepView, SessionView } from './dto/session-views.dto.js';
import { OpenSession } from './open-session.js';
import { SecondStepCookie } from './second-step-cookie.js';

/** The step after a correct password: a session, or a request for a code. */
@Injectable()
export class SecondStep {
  constructor(
    private readonly session: OpenSession,
    private readonly factors: SecondFactorStore,
    private readonly cookie: SecondStepCookie,
  ) {}

  /** Throws AppError `sign_in_failed` for a disabled user or account. */
  async open(
    browser: Browser,
    person: Person,
    action: AuditAction,
  ): Promise<WithCookies<SessionView | SecondStepView>> {
    const { since } = await this.factors.state(person.signInId);
    if (since === null) return await this.session.open(browser, person, action);
    const { id: personId, accountId, credentialsDigest } = person;
    const step = { personId, accountId, credentialsDigest, action };
    return new WithCookies({ second_step: true }, [this.cookie.set(step)]);
  }
}

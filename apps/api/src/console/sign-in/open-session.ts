import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { SignInConfig } from '#accounts/accounts.config.js';
import type { AuditAction } from '#accounts/audit-actions.js';
import { AuditLog } from '#accounts/audit-log.js';
import { AlertRuleRepository } from '#notifications/alerts/alert-rule.repository.js';
import { alertKindsFor } from '#notifications/alerts/alert-settings.js';
import type { Person } from '#accounts/person-store.js';
import { SessionStore, type Session } from '#accounts/session-store.js';
import { mustSetUpTwoFactor } from '../abilities.guard.js';
import type { Browser } from '../browser.decorator.js';
import { WithCookies } from '../cookies.interceptor.js';
import { SessionCookie } from '../session-cookie.js';
import { sessionView, type SessionView } from './dto/session-views.dto.js';
import { signInFailed } from './password-sign-in.js';

/** Starts and ends a browser's sessions. */
@Injectable()
export class OpenSession {
  constructor(
    private readonly sessions: SessionStore,
    private readonly audit: AuditLog,
    private readonly source: CatalogSource,
    private readonly cookie: SessionCookie,
    private readonly config: SignInConfig,
    private readonly rules: AlertRuleRepository,
  ) {}

  /**
   * Always creates a session with a new token; the browser's previous session ends. The user lands in the account they
   * used last, of those that share the sign-in. Throws AppError `sign_in_failed` for a disabled user or account, and
   * when the credentials have changed since they were checked, or that account is no longer theirs.
   */
  async open(
    browser: Browser,
    person: Person,
    action: AuditAction,
    details: Readonly<Record<string, unknown>> = {},
  ): Promise<WithCookies<SessionView>> {
    const personId = action === 'person.signed_in' ? await this.sessions.lastUsed(person.signInId) : person.id;
    const { id, token } = await this.sessions.begin(personId, browser.userAgent);
    const session = await this.sessions.find(token);
    if (session?.signInId !== person.signInId || !(await this.sessions.isCurrent(person))) {
      await this.sessions.discard(id);
      throw signInFailed();
    }
    const before = browser.session;
    if (before !== undefined) await this.sessions.discard(before.id);
    await this.audit.record(session, action, personId, details);
    // The installation is set up: from now on, it watches what matters to everybody.
    if (action === 'person.became_first_admin') await this.rules.turnOnUsual(session.accountId, alertKindsFor(true));
    return new WithCookies(await this.view(session), [this.cookie.set(token)]);
  }

  /** Switches to another account of the user. Throws AppError `not_found`. */
  async switchTo(before: Session, accountId: string): Promise<SessionView> {
    const session = await this.sessions.move(before, accountId);
    if (session === undefined) throw new AppError('not_found', 'You are not a member of this account.');
    await this.audit.recordOnce(session, 'person.signed_in', session.personId, { by: 'switch' });
    return await this.view(session);
  }

  async view(session: Session): Promise<SessionView> {
    const accounts = await this.sessions.accounts(session.signInId);
    return sessionView(session, accounts, this.source.current, mustSetUpTwoFactor(session, this.config));
  }

  async close(session: Session): Promise<WithCookies<undefined>> {
    await this.sessions.discard(session.id);
    await this.audit.record(session, 'person.signed_out', session.personId);
    return new WithCookies(undefined, [this.cookie.clear()]);
  }
}

import { Injectable } from '@nestjs/common';
import { CatalogSource } from '#catalog/catalog-source.js';
import type { AuditAction } from '#accounts/audit-actions.js';
import { AuditLog } from '#accounts/audit-log.js';
import type { Person } from '#accounts/person-store.js';
import { SessionStore, type Session } from '#accounts/session-store.js';
import type { Browser } from '../browser.decorator.js';
import { WithCookies } from '../cookies.interceptor.js';
import { SessionCookie } from '../session-cookie.js';
import { sessionView, type SessionView } from './dto/session-views.dto.js';
import { signInFailed } from './password-sign-in.js';

/** Begins and ends the session of a browser. */
@Injectable()
export class OpenSession {
  constructor(
    private readonly sessions: SessionStore,
    private readonly audit: AuditLog,
    private readonly source: CatalogSource,
    private readonly cookie: SessionCookie,
  ) {}

  /**
   * Always a new session with a new token, whatever cookie came with the request; the one it belonged to ends.
   * Throws AppError `sign_in_failed` for a person, or of an account, that is disabled.
   */
  async open(
    browser: Browser,
    person: Person,
    action: AuditAction,
    details: Readonly<Record<string, unknown>> = {},
  ): Promise<WithCookies<SessionView>> {
    const { id, token } = await this.sessions.begin(person.id, browser.userAgent);
    const session = await this.sessions.find(token);
    if (session === undefined) {
      await this.sessions.end(person.id, id);
      throw signInFailed();
    }
    const before = browser.session;
    if (before !== undefined) await this.sessions.end(before.personId, before.id);
    await this.audit.record({ accountId: person.accountId, personId: person.id }, action, person.id, details);
    return new WithCookies(this.view(session), [this.cookie.set(token)]);
  }

  view(session: Session): SessionView {
    return sessionView(session, this.source.current);
  }

  async close(session: Session): Promise<WithCookies<undefined>> {
    await this.sessions.end(session.personId, session.id);
    await this.audit.record(session, 'person.signed_out', session.personId);
    return new WithCookies(undefined, [this.cookie.clear()]);
  }
}

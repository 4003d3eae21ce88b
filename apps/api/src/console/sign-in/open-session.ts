import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CatalogueSource } from '#catalogue/catalogue-source.js';
import type { AuditAction } from '#accounts/audit-actions.js';
import { AuditLog } from '#accounts/audit-log.js';
import type { Person } from '#accounts/person-store.js';
import { SessionStore, type Session } from '#accounts/session-store.js';
import { SessionCookie } from '../session-cookie.js';
import { sessionOf } from '../session.guard.js';
import { sessionView, type SessionView } from './session-views.js';
import { signInFailed } from './password-sign-in.js';

/** Begins and ends the session of a browser. */
@Injectable()
export class OpenSession {
  constructor(
    private readonly sessions: SessionStore,
    private readonly audit: AuditLog,
    private readonly source: CatalogueSource,
    private readonly cookie: SessionCookie,
  ) {}

  /**
   * Always a new session with a new token, whatever cookie came with the request; the one it belonged to ends.
   * Throws AppError `sign_in_failed` for a person, or of an account, that is disabled.
   */
  async open(
    request: FastifyRequest,
    reply: FastifyReply,
    person: Person,
    action: AuditAction,
    details: Readonly<Record<string, unknown>> = {},
  ): Promise<SessionView> {
    const { id, token } = await this.sessions.begin(person.id, request.headers['user-agent'] ?? '');
    const session = await this.sessions.find(token);
    if (session === undefined) {
      await this.sessions.end(person.id, id);
      throw signInFailed();
    }
    const before = request.session;
    if (before !== undefined) await this.sessions.end(before.personId, before.id);
    const { accountId, id: personId } = person;
    await this.audit.write({ accountId, personId, action, target: personId, details });
    this.cookie.set(reply, token);
    return this.view(session);
  }

  view(session: Session): SessionView {
    return sessionView(session, this.source.current.currency);
  }

  async close(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { id, personId, accountId } = sessionOf(request);
    await this.sessions.end(personId, id);
    await this.audit.write({ accountId, personId, action: 'person.signed_out', target: personId });
    this.cookie.clear(reply);
  }
}

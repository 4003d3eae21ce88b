import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditAction } from '#people/audit-actions.js';
import { AuditLog } from '#people/audit-log.js';
import type { Person } from '#people/person-store.js';
import { SessionStore } from '#people/session-store.js';
import { ApiConfig, publicUrlOf } from '../http/api.config.js';
import { clearSessionCookie, setSessionCookie } from './session-cookie.js';
import { sessionOf } from './session.guard.js';
import { sessionView, type SessionView } from './session-views.js';
import { signInFailed } from './sign-in-failed.js';

/** Begins and ends the session of a browser. */
@Injectable()
export class OpenSession {
  private readonly secure: boolean;

  constructor(
    @Inject(SessionStore) private readonly sessions: SessionStore,
    @Inject(AuditLog) private readonly audit: AuditLog,
    @Inject(ApiConfig) config: ApiConfig,
  ) {
    this.secure = publicUrlOf(config).startsWith('https:');
  }

  /**
   * Always a new session with a new token, whatever cookie came with the request; the one it belonged to ends.
   * Throws AppError `sign_in_failed` for a person, or of an account, that is disabled.
   */
  async open(request: FastifyRequest, reply: FastifyReply, person: Person, action: AuditAction): Promise<SessionView> {
    const { id, token } = await this.sessions.begin(person.id, request.headers['user-agent'] ?? '');
    const session = await this.sessions.find(token);
    if (session === undefined) {
      await this.sessions.end(person.id, id);
      throw signInFailed();
    }
    const before = request.session;
    if (before !== undefined) await this.sessions.end(before.personId, before.id);
    await this.audit.write({ accountId: person.accountId, personId: person.id, action, target: person.id });
    setSessionCookie(reply, token, this.secure);
    return sessionView(session);
  }

  async close(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { id, personId, accountId } = sessionOf(request);
    await this.sessions.end(personId, id);
    await this.audit.write({ accountId, personId, action: 'person.signed_out', target: personId });
    clearSessionCookie(reply, this.secure);
  }
}

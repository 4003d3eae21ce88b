import { Patch, Req } from '@nestjs/common';
import { ApiBody, ApiResponse } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { AuditLog } from '#people/audit-log.js';
import { PersonStore } from '#people/person-store.js';
import { consoleBody } from '../console-body.js';
import { ConsoleController } from '../console-controller.js';
import { NameBody } from '../name-body.js';
import { OpenSession } from './open-session.js';
import { sessionOf } from '../session.guard.js';
import { SessionView } from './session-views.js';

/** What people say of themselves. */
@ConsoleController('Sessions', 'person')
export class PersonController {
  constructor(
    private readonly people: PersonStore,
    private readonly session: OpenSession,
    private readonly audit: AuditLog,
  ) {}

  @Patch()
  @ApiBody({ type: NameBody })
  @ApiResponse({ status: 200, type: SessionView })
  async rename(@Req() request: FastifyRequest): Promise<SessionView> {
    const session = sessionOf(request);
    const { accountId, personId, name: from, email } = session;
    const { name } = consoleBody(NameBody, request.body);
    await this.people.rename(accountId, personId, name);
    const details = { name, email, from };
    await this.audit.write({ accountId, personId, action: 'person.changed', target: personId, details });
    return this.session.view({ ...session, name });
  }
}

import { Body, Patch } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { AuditLog } from '#accounts/audit-log.js';
import { PersonStore } from '#accounts/person-store.js';
import { Allow } from '../abilities.guard.js';
import { ConsoleController } from '../console-controller.js';
import { NameBody } from '../dto/name-body.dto.js';
import { ProfileLimits } from './profile-limits.js';
import { OpenSession } from './open-session.js';
import { Session } from '../session.decorator.js';
import { SessionView } from './dto/session-views.dto.js';

/** The user's own profile. */
@ConsoleController('Sessions', 'person')
@Allow('self.manage')
export class PersonController {
  constructor(
    private readonly people: PersonStore,
    private readonly session: OpenSession,
    private readonly audit: AuditLog,
    private readonly limits: ProfileLimits,
  ) {}

  @Patch()
  @ApiResponse({ status: 200, type: SessionView })
  async rename(@Session() session: Session, @Body() { name }: NameBody): Promise<SessionView> {
    const { accountId, personId, name: from, email } = session;
    // The pages save the whole profile, whether or not the name was changed.
    if (name === from) return await this.session.view(session);
    await this.limits.admit(session.signInId);
    await this.people.rename(accountId, personId, name);
    await this.audit.record(session, 'person.changed', personId, { name, email, from });
    return await this.session.view({ ...session, name });
  }
}

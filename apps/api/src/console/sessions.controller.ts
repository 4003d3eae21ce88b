import { Delete, Get, HttpCode, Inject, Patch, Post, Req } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiResponse } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { AuditLog } from '#people/audit-log.js';
import { hashPassword, isPassword } from '#people/passwords.js';
import { PersonStore } from '#people/person-store.js';
import { SessionStore } from '#people/session-store.js';
import { consoleBody } from './console-body.js';
import { ConsoleController } from './console-controller.js';
import { NameBody } from './name-body.js';
import { sessionOf } from './session.guard.js';
import { SessionListView, sessionListView, SessionView, sessionView } from './session-views.js';
import { ChangePasswordBody } from './sign-in-bodies.js';
import { signInFailed } from './sign-in-failed.js';
import { SignInLimits } from './sign-in-limits.js';

/** What a person sees and changes of their own. */
@ConsoleController('Sessions')
export class SessionsController {
  constructor(
    @Inject(SessionStore) private readonly sessions: SessionStore,
    @Inject(PersonStore) private readonly people: PersonStore,
    @Inject(SignInLimits) private readonly limits: SignInLimits,
    @Inject(AuditLog) private readonly audit: AuditLog,
  ) {}

  @Get('sessions')
  @ApiResponse({ status: 200, type: SessionListView })
  async list(@Req() request: FastifyRequest): Promise<SessionListView> {
    const { id, personId } = sessionOf(request);
    return sessionListView(await this.sessions.list(personId), id);
  }

  @Delete('sessions/:id')
  @RouteConfig({ bodyless: true })
  @HttpCode(204)
  async end(@Req() request: FastifyRequest): Promise<void> {
    const { accountId, personId } = sessionOf(request);
    const { id } = request.params as { id: string };
    if (!(await this.sessions.end(personId, id))) throw new AppError('not_found', 'There is no such session.');
    await this.audit.write({ accountId, personId, action: 'session.ended', target: id });
  }

  @Patch('person')
  @ApiBody({ type: NameBody })
  @ApiResponse({ status: 200, type: SessionView })
  async rename(@Req() request: FastifyRequest): Promise<SessionView> {
    const session = sessionOf(request);
    const { accountId, personId, name: from, email } = session;
    const { name } = consoleBody(NameBody, request.body);
    await this.people.rename(accountId, personId, name);
    await this.audit.write({
      ...{ accountId, personId, action: 'person.changed', target: personId, details: { name, email, from } },
    });
    return sessionView({ ...session, name });
  }

  @Post('password')
  @HttpCode(204)
  @ApiBody({ type: ChangePasswordBody })
  async changePassword(@Req() request: FastifyRequest): Promise<void> {
    const { id, accountId, personId, email } = sessionOf(request);
    const { current_password: current, password } = consoleBody(ChangePasswordBody, request.body);
    await this.limits.admit(request.ip, email);
    const person = await this.people.forSignIn(email);
    if (!(await isPassword(person?.passwordHash, current))) throw signInFailed();
    await this.people.changePassword(personId, await hashPassword(password), id);
    await this.audit.write({ accountId, personId, action: 'person.changed_password', target: personId });
  }
}

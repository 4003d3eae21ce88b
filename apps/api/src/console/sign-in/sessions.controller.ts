import { Delete, Get, HttpCode, Inject, Post, Req } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiResponse } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { AuditLog } from '#people/audit-log.js';
import { hashPassword, isPassword } from '#people/passwords.js';
import { PersonStore } from '#people/person-store.js';
import { SessionStore } from '#people/session-store.js';
import { SignInConfig } from '#people/sign-in.config.js';
import { consoleBody } from '../console-body.js';
import { ConsoleController } from '../console-controller.js';
import { sessionOf } from '../session.guard.js';
import { SessionListView, sessionListView } from './session-views.js';
import { ChangePasswordBody } from './sign-in-bodies.js';
import { assertPasswords } from './sign-in-failed.js';
import { SignInLimits } from './sign-in-limits.js';

/** What a person sees and changes of their own. */
@ConsoleController('Sessions')
export class SessionsController {
  constructor(
    @Inject(SessionStore) private readonly sessions: SessionStore,
    @Inject(PersonStore) private readonly people: PersonStore,
    @Inject(SignInLimits) private readonly limits: SignInLimits,
    @Inject(AuditLog) private readonly audit: AuditLog,
    @Inject(SignInConfig) private readonly config: SignInConfig,
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

  @Post('password')
  @HttpCode(204)
  @ApiBody({ type: ChangePasswordBody })
  async changePassword(@Req() request: FastifyRequest): Promise<void> {
    assertPasswords(this.config);
    const { id, accountId, personId, email } = sessionOf(request);
    const { current_password: current, password } = consoleBody(ChangePasswordBody, request.body);
    await this.limits.admit(request.ip, email);
    const person = await this.people.forSignIn(email);
    if (!(await isPassword(person?.passwordHash, current))) {
      throw new AppError('sign_in_failed', 'The current password is wrong.');
    }
    await this.people.changePassword(personId, await hashPassword(password), id);
    await this.audit.write({ accountId, personId, action: 'person.changed_password', target: personId });
  }
}

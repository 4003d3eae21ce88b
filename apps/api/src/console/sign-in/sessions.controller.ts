import { Delete, Get, HttpCode, Post, Req, UseGuards } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiResponse } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { AuditLog } from '#people/audit-log.js';
import { SessionStore } from '#people/session-store.js';
import { consoleBody } from '../console-body.js';
import { ConsoleController } from '../console-controller.js';
import { sessionOf } from '../session.guard.js';
import { PasswordGuard } from './password.guard.js';
import { PasswordSignIn } from './password-sign-in.js';
import { SessionListView, sessionListView } from './session-views.js';
import { ChangePasswordBody } from './sign-in-bodies.js';

/** What a person sees and changes of their own. */
@ConsoleController('Sessions')
export class SessionsController {
  constructor(
    private readonly sessions: SessionStore,
    private readonly passwords: PasswordSignIn,
    private readonly audit: AuditLog,
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
  @UseGuards(PasswordGuard)
  @HttpCode(204)
  @ApiBody({ type: ChangePasswordBody })
  async changePassword(@Req() request: FastifyRequest): Promise<void> {
    const session = sessionOf(request);
    const { accountId, personId } = session;
    await this.passwords.changePassword(request.ip, session, consoleBody(ChangePasswordBody, request.body));
    await this.audit.write({ accountId, personId, action: 'person.changed_password', target: personId });
  }
}

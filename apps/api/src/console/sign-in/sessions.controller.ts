import { Body, Delete, Get, HttpCode, Ip, Param, Post, UseGuards } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiResponse } from '@nestjs/swagger';
import { AppError } from '#contract/app-error.js';
import { AuditLog } from '#accounts/audit-log.js';
import { SessionStore } from '#accounts/session-store.js';
import { Allow } from '../abilities.guard.js';
import { ConsoleController } from '../console-controller.js';
import { Session } from '../session.decorator.js';
import { PasswordGuard } from './password.guard.js';
import { PasswordSignIn } from './password-sign-in.js';
import { SessionListView, sessionListView } from './dto/session-views.dto.js';
import { ChangePasswordBody, ProofBody } from './dto/sign-in-bodies.dto.js';
import { IdParam } from '../../common/params.js';
import { SignInChanges } from './sign-in-changes.js';

/** A user's own sessions and password. */
@ConsoleController('Sessions')
@Allow('self.manage')
export class SessionsController {
  constructor(
    private readonly sessions: SessionStore,
    private readonly passwords: PasswordSignIn,
    private readonly audit: AuditLog,
    private readonly changes: SignInChanges,
  ) {}

  @Get('sessions')
  @ApiResponse({ status: 200, type: SessionListView })
  async list(@Session() { id, signInId }: Session): Promise<SessionListView> {
    return sessionListView(await this.sessions.list(signInId), id);
  }

  @Delete('sessions/:id')
  @RouteConfig({ bodyless: true })
  @HttpCode(204)
  async end(@Session() session: Session, @Param() { id }: IdParam): Promise<void> {
    if (!(await this.sessions.end(session.signInId, id))) throw new AppError('not_found', 'Session not found.');
    await this.audit.record(session, 'session.ended', id);
  }

  /** Proves for a few minutes that the user, and not a thief of the session, changes how they sign in. */
  @Post('session/proof')
  @UseGuards(PasswordGuard)
  @HttpCode(204)
  async prove(@Session() session: Session, @Ip() address: string, @Body() { password }: ProofBody): Promise<void> {
    await this.passwords.verifyPassword(address, session, password);
    await this.sessions.prove(session.id);
  }

  @Post('password')
  @UseGuards(PasswordGuard)
  @HttpCode(204)
  async changePassword(
    @Session() session: Session,
    @Ip() address: string,
    @Body() body: ChangePasswordBody,
  ): Promise<void> {
    await this.passwords.changePassword(address, session, body);
    await this.changes.record(session, 'person.changed_password', session.personId);
  }
}

import { Get, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { hashPassword, isPassword } from '#people/passwords.js';
import { PersonStore, type Person } from '#people/person-store.js';
import { SignInConfig } from '#people/sign-in.config.js';
import { Public } from '../../auth/api-key.guard.js';
import { consoleBody } from '../console-body.js';
import { ConsoleController } from '../console-controller.js';
import { FailedSignIns } from './failed-sign-ins.js';
import { OpenSession } from './open-session.js';
import { sessionOf } from '../session.guard.js';
import { SessionView } from './session-views.js';
import { FirstAdminBody, JoinBody, ResetPasswordBody, SignInBody } from './sign-in-bodies.js';
import { assertPasswords, signInFailed } from './sign-in-failed.js';
import { SignInLimits } from './sign-in-limits.js';

/** How one comes in, and out. */
@ConsoleController('Sign-in')
export class SignInController {
  constructor(
    @Inject(PersonStore) private readonly people: PersonStore,
    @Inject(SignInLimits) private readonly limits: SignInLimits,
    @Inject(OpenSession) private readonly session: OpenSession,
    @Inject(SignInConfig) private readonly config: SignInConfig,
    @Inject(FailedSignIns) private readonly failures: FailedSignIns,
  ) {}

  @Get('session')
  @ApiResponse({ status: 200, type: SessionView })
  current(@Req() request: FastifyRequest): SessionView {
    return this.session.view(sessionOf(request));
  }

  @Post('first-admin')
  @Public()
  @ApiBody({ type: FirstAdminBody })
  @ApiResponse({ status: 201, type: SessionView })
  async firstAdmin(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    assertPasswords(this.config);
    const { token, email, name, password } = consoleBody(FirstAdminBody, request.body);
    await this.limits.admit(request.ip);
    const passwordHash = await hashPassword(password);
    const person = await this.people.createFounder(token, { email: email.toLowerCase(), name, passwordHash });
    return await this.session.open(request, reply, usable(person), 'person.became_first_admin');
  }

  @Post('join')
  @Public()
  @ApiBody({ type: JoinBody })
  @ApiResponse({ status: 201, type: SessionView })
  async join(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    assertPasswords(this.config);
    const { token, name, password } = consoleBody(JoinBody, request.body);
    await this.limits.admit(request.ip);
    const passwordHash = await hashPassword(password);
    const person = await this.people.createInvited(token, { email: null, name, passwordHash });
    return await this.session.open(request, reply, usable(person), 'person.joined');
  }

  @Post('reset-password')
  @Public()
  @ApiBody({ type: ResetPasswordBody })
  @ApiResponse({ status: 201, type: SessionView })
  async resetPassword(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    assertPasswords(this.config);
    const { token, password } = consoleBody(ResetPasswordBody, request.body);
    await this.limits.admit(request.ip);
    const person = await this.people.resetCredential(token, { passwordHash: await hashPassword(password) });
    return await this.session.open(request, reply, usable(person), 'person.reset_password');
  }

  @Post('sign-in')
  @Public()
  @HttpCode(200)
  @ApiBody({ type: SignInBody })
  @ApiResponse({ status: 200, type: SessionView })
  async signIn(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    assertPasswords(this.config);
    const body = consoleBody(SignInBody, request.body);
    const email = body.email.trim().toLowerCase();
    await this.limits.admit(request.ip, email);
    const person = await this.people.forSignIn(email.replaceAll('\u0000', ''));
    if (!(await isPassword(person?.passwordHash, body.password)) || person === undefined) {
      if (person !== undefined) this.failures.note(person);
      throw signInFailed();
    }
    return await this.session.open(request, reply, person, 'person.signed_in');
  }

  @Post('sign-out')
  @RouteConfig({ bodyless: true })
  @HttpCode(204)
  async signOut(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<void> {
    await this.session.close(request, reply);
  }
}

function usable(person: Person | undefined): Person {
  if (person !== undefined) return person;
  throw new AppError('link_used', 'This link was used already, or is too old. Ask for a new one.');
}

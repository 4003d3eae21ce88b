import { Get, HttpCode, Post, Req, Res, UseGuards } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../auth/api-key.guard.js';
import { consoleBody } from '../console-body.js';
import { ConsoleController } from '../console-controller.js';
import { OpenSession } from './open-session.js';
import { PasswordGuard } from './password.guard.js';
import { PasswordSignIn } from './password-sign-in.js';
import { sessionOf } from '../session.guard.js';
import { SessionView } from './session-views.js';
import { FirstAdminBody, JoinBody, ResetPasswordBody, SignInBody } from './sign-in-bodies.js';

/** How one comes in, and out. */
@ConsoleController('Sign-in')
export class SignInController {
  constructor(
    private readonly passwords: PasswordSignIn,
    private readonly session: OpenSession,
  ) {}

  @Get('session')
  @ApiResponse({ status: 200, type: SessionView })
  current(@Req() request: FastifyRequest): SessionView {
    return this.session.view(sessionOf(request));
  }

  @Post('first-admin')
  @Public()
  @UseGuards(PasswordGuard)
  @ApiBody({ type: FirstAdminBody })
  @ApiResponse({ status: 201, type: SessionView })
  async firstAdmin(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    const person = await this.passwords.firstAdmin(request.ip, consoleBody(FirstAdminBody, request.body));
    return await this.session.open(request, reply, person, 'person.became_first_admin');
  }

  @Post('join')
  @Public()
  @UseGuards(PasswordGuard)
  @ApiBody({ type: JoinBody })
  @ApiResponse({ status: 201, type: SessionView })
  async join(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    const person = await this.passwords.join(request.ip, consoleBody(JoinBody, request.body));
    return await this.session.open(request, reply, person, 'person.joined');
  }

  @Post('reset-password')
  @Public()
  @UseGuards(PasswordGuard)
  @ApiBody({ type: ResetPasswordBody })
  @ApiResponse({ status: 201, type: SessionView })
  async resetPassword(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    const person = await this.passwords.resetPassword(request.ip, consoleBody(ResetPasswordBody, request.body));
    return await this.session.open(request, reply, person, 'person.reset_password');
  }

  @Post('sign-in')
  @Public()
  @UseGuards(PasswordGuard)
  @HttpCode(200)
  @ApiBody({ type: SignInBody })
  @ApiResponse({ status: 200, type: SessionView })
  async signIn(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    const person = await this.passwords.signIn(request.ip, consoleBody(SignInBody, request.body));
    return await this.session.open(request, reply, person, 'person.signed_in');
  }

  @Post('sign-out')
  @RouteConfig({ bodyless: true })
  @HttpCode(204)
  async signOut(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<void> {
    await this.session.close(request, reply);
  }
}

import { Body, Get, HttpCode, Ip, Post, Req, Res, UseGuards } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../auth/api-key.guard.js';
import { ConsoleController } from '../console-controller.js';
import { OpenSession } from './open-session.js';
import { PasswordGuard } from './password.guard.js';
import { PasswordSignIn } from './password-sign-in.js';
import { Session } from '../session.decorator.js';
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
  current(@Session() session: Session): SessionView {
    return this.session.view(session);
  }

  @Post('first-admin')
  @Public()
  @UseGuards(PasswordGuard)
  @ApiResponse({ status: 201, type: SessionView })
  async firstAdmin(
    @Ip() address: string,
    @Body() body: FirstAdminBody,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const person = await this.passwords.firstAdmin(address, body);
    return await this.session.open(request, reply, person, 'person.became_first_admin');
  }

  @Post('join')
  @Public()
  @UseGuards(PasswordGuard)
  @ApiResponse({ status: 201, type: SessionView })
  async join(
    @Ip() address: string,
    @Body() body: JoinBody,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const person = await this.passwords.join(address, body);
    return await this.session.open(request, reply, person, 'person.joined');
  }

  @Post('reset-password')
  @Public()
  @UseGuards(PasswordGuard)
  @ApiResponse({ status: 201, type: SessionView })
  async resetPassword(
    @Ip() address: string,
    @Body() body: ResetPasswordBody,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const person = await this.passwords.resetPassword(address, body);
    return await this.session.open(request, reply, person, 'person.reset_password');
  }

  @Post('sign-in')
  @Public()
  @UseGuards(PasswordGuard)
  @HttpCode(200)
  @ApiResponse({ status: 200, type: SessionView })
  async signIn(
    @Ip() address: string,
    @Body() body: SignInBody,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const person = await this.passwords.signIn(address, body);
    return await this.session.open(request, reply, person, 'person.signed_in');
  }

  @Post('sign-out')
  @RouteConfig({ bodyless: true })
  @HttpCode(204)
  async signOut(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<void> {
    await this.session.close(request, reply);
  }
}

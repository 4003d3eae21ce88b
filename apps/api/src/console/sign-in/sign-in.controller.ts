import { applyDecorators, Body, Get, HttpCode, Post, UseGuards, UseInterceptors } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExtraModels, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { Public } from '../../auth/api-key.guard.js';
import { Browser } from '../browser.decorator.js';
import { Allow } from '../abilities.guard.js';
import { ConsoleController } from '../console-controller.js';
import { Cookies } from '../console-cookie.js';
import { CookiesInterceptor, type WithCookies } from '../cookies.interceptor.js';
import { KnownBrowserCookie } from './known-browser-cookie.js';
import { OpenSession } from './open-session.js';
import { PasswordGuard } from './password.guard.js';
import { PasswordSignIn } from './password-sign-in.js';
import { SecondStep } from './second-step.js';
import { SignInChanges } from './sign-in-changes.js';
import { Session } from '../session.decorator.js';
import { SecondStepView, SessionView } from './dto/session-views.dto.js';
import { FirstAdminBody, JoinBody, ResetPasswordBody, SignInBody } from './dto/sign-in-bodies.dto.js';

/** A session, or a request for a code. */
const SignedInOrHalfway = (status: number): MethodDecorator =>
  applyDecorators(
    ApiExtraModels(SecondStepView),
    ApiResponse({
      status,
      schema: { oneOf: [SessionView, SecondStepView].map((view) => ({ $ref: getSchemaPath(view) })) },
    }),
  );

/** Signing in and out. */
@ConsoleController('Sign-in')
@Allow('self.manage')
@UseInterceptors(CookiesInterceptor)
export class SignInController {
  constructor(
    private readonly passwords: PasswordSignIn,
    private readonly session: OpenSession,
    private readonly secondStep: SecondStep,
    private readonly knownBrowser: KnownBrowserCookie,
    private readonly changes: SignInChanges,
  ) {}

  @Get('session')
  @ApiResponse({ status: 200, type: SessionView })
  async current(@Session() session: Session): Promise<SessionView> {
    return await this.session.view(session);
  }

  @Post('first-admin')
  @Public()
  @UseGuards(PasswordGuard)
  @ApiResponse({ status: 201, type: SessionView })
  async firstAdmin(@Browser() browser: Browser, @Body() body: FirstAdminBody): Promise<WithCookies<SessionView>> {
    const person = await this.passwords.firstAdmin(browser.address, body);
    return await this.session.open(browser, person, 'person.became_first_admin');
  }

  @Post('join')
  @Public()
  @UseGuards(PasswordGuard)
  @ApiResponse({ status: 201, type: SessionView })
  async join(@Browser() browser: Browser, @Body() body: JoinBody): Promise<WithCookies<SessionView>> {
    const person = await this.passwords.join(browser.address, body);
    return await this.session.open(browser, person, 'person.joined');
  }

  @Post('reset-password')
  @Public()
  @UseGuards(PasswordGuard)
  @SignedInOrHalfway(201)
  async resetPassword(
    @Browser() browser: Browser,
    @Cookies() cookies: Cookies,
    @Body() body: ResetPasswordBody,
  ): Promise<WithCookies<SessionView | SecondStepView>> {
    const person = await this.passwords.resetPassword(browser.address, body);
    this.changes.tell(person, 'person.reset_password');
    return await this.secondStep.open(browser, cookies, person, 'person.reset_password');
  }

  @Post('sign-in')
  @Public()
  @UseGuards(PasswordGuard)
  @HttpCode(200)
  @SignedInOrHalfway(200)
  async signIn(
    @Browser() browser: Browser,
    @Cookies() cookies: Cookies,
    @Body() body: SignInBody,
  ): Promise<WithCookies<SessionView | SecondStepView>> {
    const known = this.knownBrowser.read(cookies, body.email);
    const person = await this.passwords.signIn(browser.address, body, known);
    return await this.secondStep.open(browser, cookies, person, 'person.signed_in');
  }

  @Post('sign-out')
  @RouteConfig({ bodyless: true, uncapped: true })
  @HttpCode(204)
  async signOut(@Session() session: Session): Promise<WithCookies<undefined>> {
    return await this.session.close(session);
  }
}

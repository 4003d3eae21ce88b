import { Body, HttpCode, Post, UseGuards, UseInterceptors } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiResponse } from '@nestjs/swagger';
import { Public } from '../../auth/api-key.guard.js';
import { Browser } from '../browser.decorator.js';
import { ConsoleController } from '../console-controller.js';
import { Cookies } from '../console-cookie.js';
import { CookiesInterceptor, WithCookies } from '../cookies.interceptor.js';
import { SessionView } from './dto/session-views.dto.js';
import { KnownBrowserCookie } from './known-browser-cookie.js';
import { OpenSession } from './open-session.js';
import { PasswordGuard } from './password.guard.js';
import { ChallengeCookie } from './challenge-cookie.js';
import { PasskeyOptionsView, PasskeySignInBody } from './dto/passkeys.dto.js';
import { PasskeySignIn } from './passkey-sign-in.js';

/** Sign-in with a passkey, which replaces both the password and the code. */
@ConsoleController('Sign-in', 'sign-in/passkey')
@UseGuards(PasswordGuard)
@UseInterceptors(CookiesInterceptor)
export class PasskeySignInController {
  constructor(
    private readonly passkeys: PasskeySignIn,
    private readonly session: OpenSession,
    private readonly challenges: ChallengeCookie,
    private readonly knownBrowser: KnownBrowserCookie,
  ) {}

  @Post('options')
  @RouteConfig({ public: true, bodyless: true })
  @HttpCode(200)
  @ApiResponse({ status: 200, type: PasskeyOptionsView })
  async begin(@Browser() { address }: Browser, @Cookies() cookies: Cookies): Promise<WithCookies<PasskeyOptionsView>> {
    const options = await this.passkeys.begin(address, cookies);
    return new WithCookies({ options }, [this.challenges.set('passkey sign-in', options.challenge)]);
  }

  @Post()
  @Public()
  @HttpCode(200)
  @ApiResponse({ status: 200, type: SessionView })
  async finish(
    @Browser() browser: Browser,
    @Cookies() cookies: Cookies,
    @Body() { response }: PasskeySignInBody,
  ): Promise<WithCookies<SessionView>> {
    const person = await this.passkeys.finish(browser.address, cookies, response);
    const opened = await this.session.open(browser, person, 'person.signed_in', { by: 'passkey' });
    const known = this.knownBrowser.add(cookies, person.email);
    return new WithCookies(opened.body, [...opened.cookies, this.challenges.clear(), known]);
  }
}

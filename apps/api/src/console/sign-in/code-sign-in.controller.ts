import { Body, HttpCode, Post, UseGuards, UseInterceptors } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { Public } from '../../auth/api-key.guard.js';
import { Browser } from '../browser.decorator.js';
import { ConsoleController } from '../console-controller.js';
import { Cookies } from '../console-cookie.js';
import { CookiesInterceptor, type WithCookies } from '../cookies.interceptor.js';
import { SessionView } from './dto/session-views.dto.js';
import { PasswordGuard } from './password.guard.js';
import { CodeSignIn } from './code-sign-in.js';
import { CodeBody } from './dto/two-factor.dto.js';

/** The code step of a sign-in, after the password. */
@ConsoleController('Sign-in')
@UseInterceptors(CookiesInterceptor)
export class CodeSignInController {
  constructor(private readonly codes: CodeSignIn) {}

  @Post('sign-in/code')
  @Public()
  @UseGuards(PasswordGuard)
  @HttpCode(200)
  @ApiResponse({ status: 200, type: SessionView })
  async give(
    @Browser() browser: Browser,
    @Cookies() cookies: Cookies,
    @Body() { code }: CodeBody,
  ): Promise<WithCookies<SessionView>> {
    return await this.codes.finish(browser, cookies, code);
  }
}

import { Body, Get, HttpCode, Post } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { LinkStore } from '#accounts/link-store.js';
import { PersonStore } from '#accounts/person-store.js';
import { SignInConfig } from '#accounts/accounts.config.js';
import { Public } from '../../auth/api-key.guard.js';
import { Browser } from '../browser.decorator.js';
import { ConsoleController } from '../console-controller.js';
import { OpenIdSignIn } from './openid-sign-in.js';
import { SignInView } from './dto/session-views.dto.js';
import { CheckLinkBody } from './dto/sign-in-bodies.dto.js';
import { usedLink } from './password-sign-in.js';
import { SignInLimits } from './sign-in-limits.js';

/** What the pages before the sign-in offer. */
@ConsoleController('Sign-in', 'sign-in')
export class WaysInController {
  constructor(
    private readonly people: PersonStore,
    private readonly links: LinkStore,
    private readonly limits: SignInLimits,
    private readonly openId: OpenIdSignIn,
    private readonly config: SignInConfig,
  ) {}

  @Get()
  @Public()
  @ApiResponse({ status: 200, type: SignInView })
  async waysIn(): Promise<SignInView> {
    const first_run = !(await this.people.hasFounder());
    return { first_run, password: this.config.passwordSignIn, oidc: this.openId.offer };
  }

  @Post('link')
  @Public()
  @HttpCode(204)
  @ApiResponse({ status: 204, description: 'The link still works. It is not used up; 410 says that it does not work.' })
  async checkLink(@Browser() { address }: Browser, @Body() { token, purpose }: CheckLinkBody): Promise<void> {
    await this.limits.admitStart(address);
    if (!(await this.links.isOpen(token, purpose))) throw usedLink();
  }
}

import { Body, HttpCode, Post, UseGuards } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { LinkStore } from '#accounts/link-store.js';
import { Public } from '../../auth/api-key.guard.js';
import { Browser } from '../browser.decorator.js';
import { ConsoleController } from '../console-controller.js';
import { OpenLinkView } from './dto/open-link-view.dto.js';
import { CheckLinkBody, ForgotPasswordBody } from './dto/sign-in-bodies.dto.js';
import { ForgottenPassword } from './forgotten-password.js';
import { PasswordGuard } from './password.guard.js';
import { closedLink } from './password-sign-in.js';
import { SignInLimits } from './sign-in-limits.js';

/** One-time links, before they are used. */
@ConsoleController('Sign-in')
export class LinksController {
  constructor(
    private readonly links: LinkStore,
    private readonly limits: SignInLimits,
    private readonly forgotten: ForgottenPassword,
  ) {}

  @Post('sign-in/link')
  @Public()
  @HttpCode(200)
  @ApiResponse({
    status: 200,
    type: OpenLinkView,
    description: 'The link is valid, and checking does not use it. An invalid link returns 410.',
  })
  async check(@Browser() { address }: Browser, @Body() { token, purpose }: CheckLinkBody): Promise<OpenLinkView> {
    await this.limits.admitStart(address);
    const link = await this.links.findOpen(token, purpose);
    if (link === undefined) throw closedLink(await this.links.closedReason(token, purpose));
    return link;
  }

  @Post('forgot-password')
  @Public()
  @UseGuards(PasswordGuard)
  @HttpCode(204)
  @ApiResponse({ status: 204, description: 'Sends a link if a user has this email address.' })
  async forgotPassword(@Browser() { address }: Browser, @Body() { email }: ForgotPasswordBody): Promise<void> {
    await this.forgotten.ask(address, email);
  }
}

import { Body, HttpCode, Post, UseInterceptors } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { AppError } from '#contract/app-error.js';
import { LinkStore } from '#accounts/link-store.js';
import { PersonStore } from '#accounts/person-store.js';
import { Allow } from '../abilities.guard.js';
import { Browser } from '../browser.decorator.js';
import { ConsoleController } from '../console-controller.js';
import { CookiesInterceptor, type WithCookies } from '../cookies.interceptor.js';
import { Session } from '../session.decorator.js';
import { LinkBody, SwitchBody } from './dto/sign-in-bodies.dto.js';
import { SessionView } from './dto/session-views.dto.js';
import { OpenSession } from './open-session.js';
import { closedLink } from './password-sign-in.js';
import { SignInLimits, signedIn } from './sign-in-limits.js';

/** A user's memberships in several accounts. */
@ConsoleController('Sessions')
@Allow('self.manage')
@UseInterceptors(CookiesInterceptor)
export class MembershipsController {
  constructor(
    private readonly people: PersonStore,
    private readonly session: OpenSession,
    private readonly limits: SignInLimits,
    private readonly links: LinkStore,
  ) {}

  @Post('session/account')
  @HttpCode(200)
  @ApiResponse({ status: 200, type: SessionView, description: 'The account the session has switched to.' })
  async open(@Session() session: Session, @Body() { account_id: accountId }: SwitchBody): Promise<SessionView> {
    return await this.session.switchTo(session, accountId);
  }

  @Post('person/join')
  @ApiResponse({ status: 201, type: SessionView, description: 'Accepts an invitation with the current sign-in.' })
  async join(
    @Session() { id: sessionId, signInId, email, name }: Session,
    @Browser() browser: Browser,
    @Body() { token }: LinkBody,
  ): Promise<WithCookies<SessionView>> {
    await this.limits.admit(browser.address, email, signedIn(signInId));
    const invited = await this.people.linkEmail(token);
    const person = await this.people.createLinked(token, { signInId, email, name, sessionId });
    if (person === undefined) throw closedLink(await this.links.closedReason(token, 'invite'));
    if (person === 'member') {
      throw new AppError('already_exists', 'A member of this account already has your email address.');
    }
    return await this.session.open(browser, person, 'person.joined', { ...(invited !== email && { invited }) });
  }
}

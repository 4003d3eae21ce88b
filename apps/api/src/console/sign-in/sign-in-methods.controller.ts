import { Get } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { PersonStore } from '#accounts/person-store.js';
import { SignInConfig } from '#accounts/accounts.config.js';
import { Public } from '../../auth/api-key.guard.js';
import { ApiConfig, publicUrlOf } from '../../common/api.config.js';
import { ConsoleController } from '../console-controller.js';
import { LinkMails } from './link-mails.js';
import { relyingPartyOf } from '../relying-party.js';
import { OpenIdSignIn } from './openid-sign-in.js';
import { SignInView } from './dto/session-views.dto.js';

/** Sign-in options for the pages before the sign-in. */
@ConsoleController('Sign-in', 'sign-in')
export class SignInMethodsController {
  constructor(
    private readonly people: PersonStore,
    private readonly openId: OpenIdSignIn,
    private readonly config: SignInConfig,
    private readonly mails: LinkMails,
    private readonly api: ApiConfig,
  ) {}

  @Get()
  @Public()
  @ApiResponse({ status: 200, type: SignInView })
  async methods(): Promise<SignInView> {
    const first_run = !(await this.people.hasFounder());
    return {
      first_run,
      password: this.config.passwordSignIn,
      oidc: this.openId.offer,
      email: this.mails.enabled,
      passkey_origin: relyingPartyOf(publicUrlOf(this.api))?.origin ?? null,
    };
  }
}

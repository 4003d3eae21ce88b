import { Module } from '@nestjs/common';
import { OpenIdProvider } from '#accounts/openid-provider.js';
import { SignInConfig } from '#accounts/accounts.config.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { ApiConfig } from '../../common/api.config.js';
import { AccountsModule } from '#accounts/accounts.module.js';
import { LimitsModule } from '../../limits/limits.module.js';
import { PendingSignInCookie } from './pending-sign-in-cookie.js';
import { FailedSignIns } from './failed-sign-ins.js';
import { ForgottenPassword } from './forgotten-password.js';
import { KnownBrowserCookie } from './known-browser-cookie.js';
import { LinksController } from './links.controller.js';
import { MembershipsController } from './memberships.controller.js';
import { OpenSession } from './open-session.js';
import { OpenIdSignIn } from './openid-sign-in.js';
import { openIdUrl } from './openid-url.js';
import { OpenIdController } from './openid.controller.js';
import { LinkMailsModule } from '../mail/link-mails.module.js';
import { PasswordSignIn } from './password-sign-in.js';
import { PersonController } from './person.controller.js';
import { ResetLinks } from './reset-links.js';
import { ProfileLimits } from './profile-limits.js';
import { SealedCookies } from './sealed-cookies.js';
import { SecondStepCookie } from './second-step-cookie.js';
import { SecondStep } from './second-step.js';
import { SessionCookie } from '../session-cookie.js';
import { SessionsController } from './sessions.controller.js';
import { SignInChanges } from './sign-in-changes.js';
import { SignInLimits } from './sign-in-limits.js';
import { SignInController } from './sign-in.controller.js';
import { SignInMethodsController } from './sign-in-methods.controller.js';

const openIdProvider = {
  provide: OpenIdProvider,
  inject: [SignInConfig, ApiConfig],
  useFactory: (config: SignInConfig, api: ApiConfig) =>
    config.oidcIssuer === undefined ? null : new OpenIdProvider(config, `${openIdUrl(api)}/callback`),
};
const sealer = {
  provide: TextSealer,
  inject: [SecretsConfig],
  useFactory: (secrets: SecretsConfig) => new TextSealer(secrets, 'openid sign-in'),
};

/** Signing in and out, and the user's own settings. */
@Module({
  imports: [LimitsModule, AccountsModule, LinkMailsModule],
  controllers: [
    SignInMethodsController,
    LinksController,
    SignInController,
    OpenIdController,
    SessionsController,
    PersonController,
    MembershipsController,
  ],
  providers: [
    OpenSession,
    SessionCookie,
    PasswordSignIn,
    FailedSignIns,
    ForgottenPassword,
    ResetLinks,
    OpenIdSignIn,
    openIdProvider,
    PendingSignInCookie,
    SecondStep,
    SecondStepCookie,
    SealedCookies,
    sealer,
    SignInLimits,
    SignInChanges,
    KnownBrowserCookie,
    ProfileLimits,
  ],
  exports: [
    OpenSession,
    PasswordSignIn,
    FailedSignIns,
    KnownBrowserCookie,
    ProfileLimits,
    SealedCookies,
    SecondStepCookie,
    SignInChanges,
    SignInLimits,
  ],
})
export class SignInModule {}

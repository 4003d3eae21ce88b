import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { OpenIdProvider } from '#accounts/openid-provider.js';
import { SecondFactorStore } from '#accounts/second-factor-store.js';
import { SignInConfig } from '#accounts/accounts.config.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { Logger } from '#telemetry/logger.js';
import { ApiConfig } from '../../common/api.config.js';
import { AccountsModule } from '#accounts/accounts.module.js';
import { MailModule } from '#notifications/mail/mail.module.js';
import { NotificationsModule } from '#notifications/notifications.module.js';
import { LimitsModule } from '../../limits/limits.module.js';
import { ChallengeCookie } from './challenge-cookie.js';
import { CodeCheck } from './code-check.js';
import { CodeSignIn } from './code-sign-in.js';
import { CodeSignInController } from './code-sign-in.controller.js';
import { PendingSignInCookie } from './pending-sign-in-cookie.js';
import { FailedSignIns } from './failed-sign-ins.js';
import { ForgottenPassword } from './forgotten-password.js';
import { KnownBrowserCookie } from './known-browser-cookie.js';
import { LinkMails } from './link-mails.js';
import { LinksController } from './links.controller.js';
import { MailLimits } from './mail-limits.js';
import { MembershipsController } from './memberships.controller.js';
import { NewPasskeys } from './new-passkeys.js';
import { OpenSession } from './open-session.js';
import { OpenIdSignIn, openIdUrl } from './openid-sign-in.js';
import { OpenIdController } from './openid.controller.js';
import { PasskeySignIn } from './passkey-sign-in.js';
import { PasskeySignInController } from './passkey-sign-in.controller.js';
import { PasskeysController } from './passkeys.controller.js';
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
import { TwoFactorController } from './two-factor.controller.js';
import { WebAuthn } from './web-authn.js';

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

/**
 * Signing in and out with a password, a code, a passkey or OpenID Connect, the user's own settings, and emails with
 * one-time links.
 */
@Module({
  imports: [LimitsModule, AccountsModule, MailModule, NotificationsModule],
  controllers: [
    SignInMethodsController,
    LinksController,
    SignInController,
    OpenIdController,
    SessionsController,
    PersonController,
    MembershipsController,
    CodeSignInController,
    TwoFactorController,
    PasskeySignInController,
    PasskeysController,
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
    CodeCheck,
    CodeSignIn,
    ChallengeCookie,
    NewPasskeys,
    PasskeySignIn,
    WebAuthn,
    LinkMails,
    MailLimits,
  ],
  exports: [LinkMails, MailLimits, SignInChanges],
})
export class SignInModule implements OnApplicationBootstrap {
  constructor(
    private readonly factors: SecondFactorStore,
    private readonly logger: Logger,
  ) {}

  /** Runs in the background: secrets under the previous SECRET_KEY keep working, and the next start tries again. */
  onApplicationBootstrap(): void {
    this.factors.reencrypt().catch((error: unknown) => this.logger.warn('second_factors.not_sealed', { error }));
  }
}

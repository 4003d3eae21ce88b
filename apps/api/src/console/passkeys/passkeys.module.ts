import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { SignInModule } from '../sign-in/sign-in.module.js';
import { ChallengeCookie } from './challenge-cookie.js';
import { NewPasskeys } from './new-passkeys.js';
import { PasskeySignIn } from './passkey-sign-in.js';
import { PasskeySignInController } from './passkey-sign-in.controller.js';
import { PasskeysController } from './passkeys.controller.js';
import { WebAuthn } from './web-authn.js';

/** Passkeys, which users sign in with instead of a password. */
@Module({
  imports: [AccountsModule, SignInModule],
  controllers: [PasskeySignInController, PasskeysController],
  providers: [ChallengeCookie, NewPasskeys, PasskeySignIn, WebAuthn],
})
export class PasskeysModule {}

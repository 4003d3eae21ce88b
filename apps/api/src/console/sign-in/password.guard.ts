import { Injectable, type CanActivate } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { SignInConfig } from '#accounts/accounts.config.js';

/** Allows requests with passwords if password sign-in is on. Throws AppError `not_permitted` otherwise. */
@Injectable()
export class PasswordGuard implements CanActivate {
  constructor(private readonly config: SignInConfig) {}

  canActivate(): true {
    const { passwordSignIn, oidcName } = this.config;
    if (!passwordSignIn) throw new AppError('not_permitted', `Passwords are turned off. Sign in with ${oidcName}.`);
    return true;
  }
}

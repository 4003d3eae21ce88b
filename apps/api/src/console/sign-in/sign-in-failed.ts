import { AppError } from '#contract/app-error.js';
import type { SignInConfig } from '#people/sign-in.config.js';

/** One answer for every cause, so that nothing can be learnt about people. */
export function signInFailed(): AppError {
  return new AppError('sign_in_failed', 'The e-mail address or the password is wrong.');
}

/** Throws AppError `not_permitted` where nobody signs in with a password. */
export function assertPasswords({ passwordSignIn, oidcName }: SignInConfig): void {
  if (!passwordSignIn) throw new AppError('not_permitted', `Passwords are switched off: sign in with ${oidcName}.`);
}

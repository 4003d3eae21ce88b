import { AppError } from '#contract/app-error.js';

/** One answer for every cause, so that nothing can be learnt about people. */
export function signInFailed(): AppError {
  return new AppError('sign_in_failed', 'The e-mail address or the password is wrong.');
}

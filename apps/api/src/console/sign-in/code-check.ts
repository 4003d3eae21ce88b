import { Injectable } from '@nestjs/common';
import type { Person } from '#accounts/person-store.js';
import { SecondFactorStore } from '#accounts/second-factor-store.js';
import { AppError } from '#contract/app-error.js';
import { FailedSignIns } from './failed-sign-ins.js';
import { SignInLimits, signedIn } from './sign-in-limits.js';

/** Checks the codes of authenticator apps, with the same limits as passwords. */
@Injectable()
export class CodeCheck {
  constructor(
    private readonly factors: SecondFactorStore,
    private readonly limits: SignInLimits,
    private readonly failures: FailedSignIns,
  ) {}

  /**
   * Consumes a code of the app or a recovery code. `browser`: as for `SignInLimits.admitCode`. Throws AppError
   * `sign_in_failed` and `rate_limit_exceeded`.
   */
  async take(
    address: string,
    person: Pick<Person, 'id' | 'signInId' | 'accountId' | 'name' | 'email'> &
      Partial<Pick<Person, 'credentialsDigest'>>,
    code: string,
    browser: string | undefined,
  ): Promise<'app' | 'recovery'> {
    const { signInId, credentialsDigest } = person;
    const admitted = await this.limits.admitCode({ address, signInId, credentialsDigest, browser });
    const used = await this.factors.take(signInId, code);
    if (used !== undefined) {
      await admitted.returnAttempt();
      return used;
    }
    this.failures.note(person, 'person.code_failed');
    throw wrongCode();
  }

  /** Confirms a signed-in user's new app with its first code; returns recovery codes. Throws like `take`. */
  async confirm(address: string, signInId: string, code: string): Promise<string[]> {
    const admitted = await this.limits.admitCode({ address, signInId, browser: signedIn(signInId) });
    const codes = await this.factors.confirm(signInId, code);
    if (codes === undefined) throw wrongCode();
    await admitted.returnAttempt();
    return codes;
  }
}

function wrongCode(): AppError {
  return new AppError('sign_in_failed', 'The code is incorrect or was already used. Try the next one.');
}

import { Setting, Within } from '#config/setting.js';

/** Limits of an account that are not stored with it. */
export class AccountsConfig {
  @Setting('KEYS_PER_ACCOUNT', 'Active API keys an account may have; 0 = unlimited.')
  @Within(0, 1_000_000)
  readonly keysPerAccount: number = 100;
}

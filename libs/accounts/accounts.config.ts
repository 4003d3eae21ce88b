import { IsInt, Max, Min } from 'class-validator';
import { Setting } from '#config/setting.js';

export class AccountsConfig {
  @Setting('KEYS_PER_ACCOUNT', 'Active API keys an account may have; 0 = unlimited.')
  @IsInt()
  @Min(0)
  @Max(1_000_000)
  readonly keysPerAccount: number = 100;
}

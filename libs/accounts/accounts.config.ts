import { IsInt, Max, Min } from 'class-validator';
import { Setting } from '#config/setting.js';

export class AccountsConfig {
  @Setting('KEYS_PER_ACCOUNT', 'API keys of an account that may work at a time; 0 = unlimited.')
  @IsInt()
  @Min(0)
  @Max(1_000_000)
  readonly keysPerAccount: number = 100;
}

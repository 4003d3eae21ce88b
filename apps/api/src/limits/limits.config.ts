import { IsOptional } from 'class-validator';
import { Setting, Within } from '#config/setting.js';

/** Default limits of keys, in requests per minute. */
export class LimitsConfig {
  @Setting('RATE_SUBMITS_PER_MINUTE', 'Image requests per minute for each API key; 0 = unlimited.')
  @Within(0, 1_000_000_000)
  readonly submitsPerMinute: number = 60;

  @Setting('RATE_POLLS_PER_MINUTE', 'Task reads and cancellations per minute for each API key; 0 = unlimited.')
  @Within(0, 1_000_000_000)
  readonly pollsPerMinute: number = 600;

  @Setting('RATE_CHATS_PER_MINUTE', 'Chats per minute for each API key; 0 = unlimited.')
  @Within(0, 1_000_000_000)
  readonly chatsPerMinute: number = 600;

  @Setting(
    'ACCOUNT_SUBMITS_PER_MINUTE',
    'Image requests per minute for all API keys of an account together; 0 = unlimited, unset = five times RATE_SUBMITS_PER_MINUTE.',
  )
  @IsOptional()
  @Within(0, 1_000_000_000)
  private readonly accountSubmits?: number;

  @Setting(
    'ACCOUNT_POLLS_PER_MINUTE',
    'Task reads and cancellations per minute for all API keys of an account together; 0 = unlimited, unset = five times RATE_POLLS_PER_MINUTE.',
  )
  @IsOptional()
  @Within(0, 1_000_000_000)
  private readonly accountPolls?: number;

  @Setting(
    'ACCOUNT_CHATS_PER_MINUTE',
    'Chats per minute for all API keys of an account together; 0 = unlimited, unset = five times RATE_CHATS_PER_MINUTE.',
  )
  @IsOptional()
  @Within(0, 1_000_000_000)
  private readonly accountChats?: number;

  /** Limits per minute for all keys of an account together; 0 = unlimited. */
  get account(): Readonly<Record<'submits' | 'polls' | 'chats', number>> {
    return {
      submits: this.accountSubmits ?? 5 * this.submitsPerMinute,
      polls: this.accountPolls ?? 5 * this.pollsPerMinute,
      chats: this.accountChats ?? 5 * this.chatsPerMinute,
    };
  }
}

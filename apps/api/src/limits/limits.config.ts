import { Setting, Within } from '#config/setting.js';

/** Default limits of keys, in requests per minute. */
export class LimitsConfig {
  @Setting('RATE_SUBMITS_PER_MINUTE', 'Image requests per minute for each API key; 0 = unlimited.', { who: 'traffic' })
  @Within(0, 1_000_000_000)
  readonly submitsPerMinute: number = 60;

  @Setting('RATE_POLLS_PER_MINUTE', 'Task reads and cancellations per minute for each API key; 0 = unlimited.', {
    who: 'traffic',
  })
  @Within(0, 1_000_000_000)
  readonly pollsPerMinute: number = 600;

  @Setting('RATE_CHATS_PER_MINUTE', 'Chats per minute for each API key; 0 = unlimited.', { who: 'traffic' })
  @Within(0, 1_000_000_000)
  readonly chatsPerMinute: number = 600;

  @Setting(
    'ACCOUNT_LIMIT_FACTOR',
    'What all API keys of an account may do together, in multiples of a key’s limits (RATE_..._PER_MINUTE, MAX_TASKS_IN_FLIGHT); 0 = unlimited.',
    { who: 'traffic' },
  )
  @Within(0, 10_000)
  private readonly accountLimitFactor: number = 5;

  /** Limits per minute for all keys of an account together; 0 = unlimited. */
  get account(): Readonly<Record<'submits' | 'polls' | 'chats', number>> {
    return {
      submits: this.accountLimitFactor * this.submitsPerMinute,
      polls: this.accountLimitFactor * this.pollsPerMinute,
      chats: this.accountLimitFactor * this.chatsPerMinute,
    };
  }
}

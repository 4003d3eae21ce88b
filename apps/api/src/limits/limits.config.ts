import { IsInt, Max, Min } from 'class-validator';
import { Setting } from '#config/setting.js';

export class LimitsConfig {
  @Setting('RATE_SUBMITS_PER_MINUTE', 'Image requests an API key may send in a minute; 0 = any number.')
  @IsInt()
  @Min(0)
  @Max(1_000_000_000)
  readonly submitsPerMinute: number = 60;

  @Setting('RATE_POLLS_PER_MINUTE', 'Reads and cancels of tasks an API key may make in a minute; 0 = any number.')
  @IsInt()
  @Min(0)
  @Max(1_000_000_000)
  readonly pollsPerMinute: number = 600;

  @Setting('RATE_CHATS_PER_MINUTE', 'Chats an API key may send in a minute; 0 = any number.')
  @IsInt()
  @Min(0)
  @Max(1_000_000_000)
  readonly chatsPerMinute: number = 600;
}

import { ApiProperty } from '@nestjs/swagger';
import { PROVIDER_WAITS, WAITS_FOR, type WaitingReason } from '#contract/waiting.js';

/** Why a task has not begun. */
export class WaitingView implements WaitingReason {
  @ApiProperty({
    enum: WAITS_FOR,
    description:
      '`line`: for its turn; `worker`: no worker is running; `provider`: all that could generate it reject calls; `retry`: its last call failed; `queue`: Redis does not answer.',
  })
  for!: WaitingReason['for'];

  @ApiProperty({ type: String, nullable: true, description: 'Of `provider` only, as the following fields.' })
  provider!: string | null;

  @ApiProperty({ enum: PROVIDER_WAITS, type: String, nullable: true, description: 'Why the provider rejects calls.' })
  why!: WaitingReason['why'];

  @ApiProperty({ type: String, nullable: true, format: 'date-time', description: 'Also of `retry`; null if unknown.' })
  next_try_at!: string | null;

  @ApiProperty({ type: 'integer', nullable: true, description: 'The limit that is reached: of `busy` and `rate`.' })
  limit!: number | null;
}

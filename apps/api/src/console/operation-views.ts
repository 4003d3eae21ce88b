import { ApiProperty } from '@nestjs/swagger';

class DrainedView {
  @ApiProperty({ format: 'date-time' })
  since!: string;

  @ApiProperty({ type: String, nullable: true })
  reason!: string | null;
}

class RestingKeyView {
  @ApiProperty({ description: 'Name of the key, never the key.' })
  key!: string;

  @ApiProperty({ type: 'integer', description: 'How long it still rests.' })
  rests_ms!: number;
}

export class ProviderStateView {
  @ApiProperty()
  name!: string;

  @ApiProperty({ example: 'openai' })
  type!: string;

  @ApiProperty({ type: [String], description: 'Models it has routes of.' })
  models!: string[];

  @ApiProperty({ enum: ['closed', 'half-open', 'open'] })
  breaker!: string;

  @ApiProperty({ type: 'integer', description: 'Until an open breaker lets a call pass.' })
  open_ms!: number;

  @ApiProperty({ type: 'integer', description: 'Calls that run or are parked.' })
  calls!: number;

  @ApiProperty({ type: 'integer', nullable: true })
  concurrency!: number | null;

  @ApiProperty({ type: 'integer', description: 'Calls begun in the last minute.' })
  starts!: number;

  @ApiProperty({ type: 'integer', nullable: true })
  starts_per_minute!: number | null;

  @ApiProperty({ type: [RestingKeyView] })
  resting_keys!: RestingKeyView[];

  @ApiProperty({ type: DrainedView, nullable: true })
  drained!: DrainedView | null;
}

export class ProviderListView {
  @ApiProperty({ type: [ProviderStateView] })
  data!: ProviderStateView[];
}

export class QueueView {
  @ApiProperty({ type: 'integer' })
  waiting!: number;

  @ApiProperty({ type: 'integer' })
  active!: number;

  @ApiProperty({ type: 'integer', description: 'To be tried again later.' })
  delayed!: number;

  @ApiProperty({ type: 'integer', description: 'Age of the oldest task that waits to be started.' })
  oldest_waiting_seconds!: number;

  @ApiProperty({ type: 'integer' })
  completed_last_minute!: number;

  @ApiProperty({ type: 'integer' })
  failed_last_hour!: number;
}

import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsString, Matches } from 'class-validator';
import { CostView } from '#contract/cost-view.js';
import type { LiveWorker } from '#queue/service-times.js';
import { DRAIN_REASON } from '#routing/provider-switches.js';
import { MayBeMissing } from '../../../common/contract-fields.js';
import { ListOf } from '../../dto/list-views.dto.js';

class DrainedView {
  @ApiProperty({ format: 'date-time' })
  since!: string;

  @ApiProperty({ type: String, nullable: true })
  reason!: string | null;
}

class RestingKeyView {
  @ApiProperty({ description: 'Name of the key, never the key.' })
  key!: string;

  @ApiProperty({ type: 'integer', description: 'How long it stays paused.' })
  rests_ms!: number;
}

class TrialView {
  @ApiProperty()
  model!: string;

  @ApiProperty({ type: CostView, nullable: true, description: 'Null when nothing is charged.' })
  cost!: CostView | null;
}

/** The current state of a provider. */
export class ProviderStateView {
  @ApiProperty()
  name!: string;

  @ApiProperty({
    type: String,
    nullable: true,
    example: 'openai',
    description: 'Null if it is no longer in the catalog.',
  })
  type!: string | null;

  @ApiProperty({ type: [String], description: 'Models it has routes of.' })
  models!: string[];

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Where it is asked for new images. Null if that is not known before the call.',
  })
  images_url!: string | null;

  @ApiProperty({ type: [TrialView], description: 'Image models that it can be tested with, and the price of a test.' })
  trials!: TrialView[];

  @ApiProperty({ description: 'False when it needs a key and the API has been given none.' })
  has_key!: boolean;

  @ApiProperty({ type: [String], description: 'Names of keys that the API was started without.' })
  unset_keys!: string[];

  @ApiProperty({ enum: ['closed', 'half-open', 'open'] })
  breaker!: 'closed' | 'half-open' | 'open';

  @ApiProperty({ type: 'integer', description: 'Until an open circuit breaker permits a call.' })
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

/** Providers of the catalog, and drained ones that are no longer in it. */
export class ProviderListView extends ListOf(ProviderStateView) {}

/** A provider's calls in the requested time range. */
export class ProviderFiguresView {
  @ApiProperty()
  name!: string;

  @ApiProperty({ type: 'integer' })
  calls!: number;

  @ApiProperty({ type: 'integer' })
  failed!: number;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Of calls that succeeded, in milliseconds.' })
  median_ms!: number | null;

  @ApiProperty({ type: 'integer', description: 'Calls that it failed since the last one that succeeded.' })
  failing!: number;

  @ApiProperty({ type: String, nullable: true, format: 'date-time', description: 'When the last of these failed.' })
  failed_at!: string | null;
}

/** Computed from the task rows, so it covers every process. */
export class ProviderFiguresListView extends ListOf(
  ProviderFiguresView,
  'Image calls in the last hour; in a busy hour, those of the newest 5000 tasks.',
) {}

class WorkerView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  host!: string;

  @ApiProperty({ type: 'integer' })
  pid!: number;

  @ApiProperty({ example: '1.0.0' })
  version!: string;

  @ApiProperty({ type: 'integer', description: 'The most tasks it runs at once.' })
  slots!: number;

  @ApiProperty({ type: 'integer', description: 'Tasks it is running.' })
  running!: number;

  @ApiProperty({ format: 'date-time' })
  started_at!: string;

  @ApiProperty({ format: 'date-time', description: 'Its last heartbeat; without one for 15 s it is gone.' })
  last_seen_at!: string;
}

/** The state of the queue and its workers. */
export class QueueView {
  @ApiProperty({ type: 'integer' })
  waiting!: number;

  @ApiProperty({ type: 'integer' })
  active!: number;

  @ApiProperty({ type: 'integer', description: 'Waiting for a retry.' })
  delayed!: number;

  @ApiProperty({ type: 'integer', description: 'Age of the oldest task that is waiting to start; 0 when none is.' })
  oldest_waiting_seconds!: number;

  @ApiProperty({ type: 'integer' })
  completed_last_minute!: number;

  @ApiProperty({ type: 'integer' })
  failed_last_hour!: number;

  @ApiProperty({ type: [WorkerView], description: 'Running workers, in the order in which they started.' })
  workers!: WorkerView[];
}

/** Tasks that ended in one minute. */
export class FinishedMinuteView {
  @ApiProperty({ format: 'date-time' })
  time!: string;

  @ApiProperty({ type: 'integer' })
  completed!: number;

  @ApiProperty({ type: 'integer' })
  failed!: number;
}

/** One entry per minute, for the throughput chart. */
export class FinishedMinutesView extends ListOf(FinishedMinuteView, 'The last sixty minutes, oldest first.') {}

/** Why a provider is drained, for other users. */
@MayBeMissing()
export class DrainBody {
  @ApiPropertyOptional({ type: String, description: 'Why, in 1 to 200 visible characters.' })
  @IsOptional()
  @IsString()
  @Matches(DRAIN_REASON, { message: 'reason must have 1 to 200 visible characters' })
  reason?: string | null;
}

/** The model to test; absent: the provider's first. */
@MayBeMissing()
export class TestBody {
  @ApiPropertyOptional({ type: String, description: 'One of its image models; the first by default.' })
  @IsOptional()
  @IsString()
  model?: string | null;
}

/** `now`: in ms; workers report only how long ago they were last heard. */
export function workerView({ silentMs, startedAt, ...worker }: LiveWorker, now: number): WorkerView {
  return { ...worker, started_at: startedAt, last_seen_at: new Date(now - silentMs).toISOString() };
}

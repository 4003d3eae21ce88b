import { ApiProperty } from '@nestjs/swagger';
import { CostView } from '#contract/cost-view.js';
import { TextField } from '#contract/field.js';
import type { FieldProblem } from '#contract/field-rule.js';
import type { WaitingGroup } from '#contract/waiting.js';
import type { LiveWorker } from '#queue/service-times.js';
import { DRAIN_REASON } from '#routing/provider-switches.js';
import { OptionalBody } from '../../../common/contract-fields.js';
import { ListOf } from '../../dto/list-views.dto.js';
import { RecentCallsView } from './recent-calls.dto.js';
import { WaitingView } from '../../dto/waiting-view.dto.js';

class DrainedView {
  @ApiProperty({ format: 'date-time' })
  since!: string;

  @ApiProperty({ type: String, nullable: true })
  reason!: string | null;
}

class RestingKeyView {
  @ApiProperty({ description: 'Name of the key, never its value.' })
  key!: string;

  @ApiProperty({ type: 'integer', description: 'Remaining pause, in milliseconds.' })
  rests_ms!: number;
}

class TrialView {
  @ApiProperty()
  model!: string;

  @ApiProperty({ type: CostView, nullable: true, description: 'Null if free.' })
  cost!: CostView | null;
}

/** The current state of one of a provider's servers. */
export class ServerStateView {
  @ApiProperty({
    type: String,
    nullable: true,
    example: 'sweden',
    description: 'Null for a provider without a list of servers.',
  })
  name!: string | null;

  @ApiProperty({ type: String, nullable: true, example: 'eu' })
  region!: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'URL for new images. Null if it is only known during a call.',
  })
  images_url!: string | null;

  @ApiProperty({ enum: ['closed', 'half-open', 'open'] })
  breaker!: 'closed' | 'half-open' | 'open';

  @ApiProperty({ type: 'integer', description: 'Milliseconds until the open circuit breaker allows a call.' })
  open_ms!: number;

  @ApiProperty({ type: 'integer', description: 'Calls that are running or parked.' })
  calls!: number;

  @ApiProperty({ type: 'integer', nullable: true })
  concurrency!: number | null;

  @ApiProperty({ type: 'integer', description: 'Calls started in the last minute.' })
  starts!: number;

  @ApiProperty({ type: 'integer', nullable: true })
  starts_per_minute!: number | null;

  @ApiProperty({ type: [RestingKeyView] })
  resting_keys!: RestingKeyView[];

  @ApiProperty({ type: 'integer', description: 'Milliseconds until one of its keys may be used; 0 if one may be now.' })
  rests_ms!: number;

  @ApiProperty({ type: DrainedView, nullable: true, description: 'Whether this server alone is drained.' })
  drained!: DrainedView | null;

  @ApiProperty({ type: RecentCallsView })
  last_hour!: RecentCallsView;
}

/** The current state of a provider: of its only server, or of all of them together. */
export class ProviderStateView {
  @ApiProperty()
  name!: string;

  @ApiProperty({
    type: String,
    nullable: true,
    example: 'openai',
    description: 'Null if the provider is no longer in the catalog.',
  })
  type!: string | null;

  @ApiProperty({ type: [String], description: 'Models with routes to this provider.' })
  models!: string[];

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'URL for new images, at the first server. Null if it is only known during a call.',
  })
  images_url!: string | null;

  @ApiProperty({
    type: [TrialView],
    description: 'Image models available for a provider test, with the price of a test.',
  })
  trials!: TrialView[];

  @ApiProperty({ description: 'False if the provider requires a key and none is set.' })
  has_key!: boolean;

  @ApiProperty({ type: [String], description: 'Names of keys whose environment variables are not set.' })
  unset_keys!: string[];

  @ApiProperty({
    type: [ServerStateView],
    description: 'Its servers; one without a name for a provider without a list of them.',
  })
  servers!: ServerStateView[];

  @ApiProperty({ enum: ['closed', 'half-open', 'open'], description: 'Of several servers: the best of their states.' })
  breaker!: 'closed' | 'half-open' | 'open';

  @ApiProperty({ type: 'integer', description: 'Milliseconds until the open circuit breaker allows a call.' })
  open_ms!: number;

  @ApiProperty({ type: 'integer', description: 'Calls that are running or parked.' })
  calls!: number;

  @ApiProperty({ type: 'integer', nullable: true })
  concurrency!: number | null;

  @ApiProperty({ type: 'integer', description: 'Calls started in the last minute.' })
  starts!: number;

  @ApiProperty({ type: 'integer', nullable: true })
  starts_per_minute!: number | null;

  @ApiProperty({ type: [RestingKeyView] })
  resting_keys!: RestingKeyView[];

  @ApiProperty({
    type: 'integer',
    description: 'Milliseconds until a key may be used at a server whose breaker is closed; 0 if one may be now.',
  })
  rests_ms!: number;

  @ApiProperty({ type: DrainedView, nullable: true })
  drained!: DrainedView | null;

  @ApiProperty({ type: RecentCallsView })
  last_hour!: RecentCallsView;
}

/** Providers of the catalog, and drained ones that are no longer in it. */
export class ProviderListView extends ListOf(ProviderStateView) {}

/** What ending a provider's pauses has led to. */
export class TriedView {
  @ApiProperty({ description: 'Whether a circuit breaker was open or waiting for its test, or a key was paused.' })
  paused!: boolean;

  @ApiProperty({
    type: 'integer',
    description: 'Waiting tasks that call the provider now. With 0, the next call tests it.',
  })
  waiting!: number;
}

class WorkerView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  host!: string;

  @ApiProperty({ type: 'integer' })
  pid!: number;

  @ApiProperty({ example: '1.0.0' })
  version!: string;

  @ApiProperty({ type: 'integer', description: 'Maximum tasks the worker runs at once.' })
  slots!: number;

  @ApiProperty({ type: 'integer', description: 'Tasks the worker is running.' })
  running!: number;

  @ApiProperty({ format: 'date-time' })
  started_at!: string;

  @ApiProperty({
    format: 'date-time',
    description: 'Last heartbeat. A worker without a heartbeat for 15 s is removed.',
  })
  last_seen_at!: string;
}

class WaitingGroupView implements WaitingGroup {
  @ApiProperty({ type: WaitingView })
  reason!: WaitingView;

  @ApiProperty({ type: 'integer' })
  count!: number;

  @ApiProperty({ type: 'integer', description: 'Age of the oldest of them.' })
  oldest_seconds!: number;
}

/** The state of the queue and its workers. */
export class QueueView {
  @ApiProperty({ type: 'integer', description: 'Tasks of all accounts that wait to be started.' })
  waiting!: number;

  @ApiProperty({ type: 'integer', description: 'Tasks that a worker or a provider is working on.' })
  running!: number;

  @ApiProperty({ type: [WaitingGroupView], description: 'The waiting tasks by reason, most tasks first.' })
  waiting_for!: WaitingGroupView[];

  @ApiProperty({ type: 'integer', description: 'Age of the oldest task waiting to start; 0 if there is none.' })
  oldest_waiting_seconds!: number;

  @ApiProperty({ type: 'integer' })
  completed_last_minute!: number;

  @ApiProperty({ type: 'integer' })
  failed_last_hour!: number;

  @ApiProperty({ type: [WorkerView], description: 'Running workers, in order of their start.' })
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
export class FinishedMinutesView extends ListOf(FinishedMinuteView, 'The last 60 minutes, oldest first.') {}

function reasonProblem(value: unknown, property: string): FieldProblem | undefined {
  if (typeof value === 'string' && DRAIN_REASON.test(value)) return undefined;
  return { code: 'invalid_value', message: `${property} must have 1 to 200 visible characters` };
}

/** Why a provider is drained, for other users. */
@OptionalBody()
export class DrainBody {
  @TextField({ optional: true, description: 'Reason, 1 to 200 visible characters.', rule: reasonProblem })
  reason?: string | null;
}

/** The model to test; absent: the provider's first. */
@OptionalBody()
export class TestBody {
  @TextField({ optional: true, description: 'One of the provider’s image models; the first by default.' })
  model?: string | null;
}

/** `now`: in ms; workers report only how long ago they were last heard. */
export function workerView({ silentMs, startedAt, ...worker }: LiveWorker, now: number): WorkerView {
  return { ...worker, started_at: startedAt, last_seen_at: new Date(now - silentMs).toISOString() };
}

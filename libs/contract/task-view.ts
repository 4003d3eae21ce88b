import { ModerationDetails } from './moderation-details.js';
import type { ExtraValues } from './extra-fields.js';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { costView, CostView, type ViewedCost } from './cost-view.js';
import { measuredSize, unixSeconds, warningsOf, type ResultImage, type ResultTask } from './image-result.js';

/** Maximum tasks of one batch query. */
export const MAX_BATCH = 50;

class TaskImageView {
  @ApiProperty({ type: [String], description: 'Signed URL; each read returns a new one.' })
  url!: string[];

  @ApiProperty({ type: 'integer', description: 'Expiry of the URL, in Unix seconds.' })
  expires_at!: number;

  @ApiProperty({ example: '2048x2048' })
  size!: string;

  @ApiProperty({ example: 'image/png' })
  content_type!: string;
}

class TaskResultView {
  @ApiProperty({ type: [TaskImageView] })
  images!: TaskImageView[];
}

/** Pixels of an image at each step: `<w>x<h>`. */
export class TaskSizesView {
  @ApiProperty({ example: '2048x1152', description: 'Size in pixels that the request resolves to, or `auto`.' })
  requested!: string;

  @ApiProperty({ example: '2048x1152', description: 'Size requested from the provider, or `auto`.' })
  sent!: string;

  @ApiProperty({ example: '1536x1024', description: "Size of the provider's image, before resizing." })
  received!: string;
}

/** Why a task failed. */
export class TaskErrorView {
  @ApiProperty()
  type!: string;

  @ApiProperty({ type: String, nullable: true })
  code!: string | null;

  @ApiProperty()
  message!: string;

  @ApiProperty({ type: String, nullable: true })
  param!: string | null;

  @ApiProperty({ type: 'integer', description: 'Status the synchronous endpoint would have returned.' })
  http_status!: number;

  @ApiPropertyOptional({
    type: ModerationDetails,
    description: 'Of `moderation_blocked` only: what was blocked, if the provider says so.',
  })
  moderation_details?: ModerationDetails;
}

/** One step in a task's timeline. Times are Unix seconds with milliseconds. */
export class TaskEventView {
  @ApiProperty({
    enum: ['accepted', 'approved', 'rejected', 'started', 'provider_call', 'completed', 'failed', 'cancelled'],
  })
  event!: 'accepted' | 'approved' | 'rejected' | 'started' | 'provider_call' | 'completed' | 'failed' | 'cancelled';

  @ApiProperty({ type: 'number', example: 1795233600.125 })
  at!: number;

  @ApiPropertyOptional({
    description: 'Name of the provider in the catalog. This field and the following ones are for provider calls only.',
  })
  provider?: string;

  @ApiPropertyOptional({ example: 'sweden', description: 'Name of its server, if the provider has several.' })
  server?: string;

  @ApiPropertyOptional({ example: 'eu', description: 'Region of the server, if the catalog says so.' })
  region?: string;

  @ApiPropertyOptional({ type: String, nullable: true, description: 'Name of the provider key; null if it has none.' })
  key?: string | null;

  @ApiPropertyOptional({ description: 'Model name sent to the provider.' })
  model?: string;

  @ApiPropertyOptional({ description: 'Job ID assigned by the provider.' })
  upstream_id?: string;

  @ApiPropertyOptional({ type: 'number', description: 'Absent while the call is running, or if its end is unknown.' })
  ended?: number;

  @ApiPropertyOptional({
    enum: ['running', 'succeeded', 'failed', 'not_called', 'unknown'],
    description: '`not_called`: recorded but never sent. `unknown`: interrupted before its outcome was known.',
  })
  outcome?: string;

  @ApiPropertyOptional({ example: 'upstream_error', description: 'Failed calls only.' })
  code?: string;

  @ApiPropertyOptional({ enum: ['no', 'maybe', 'yes'], description: 'Whether the provider charges for the call.' })
  charged?: 'no' | 'maybe' | 'yes';
}

/** A task, the same in all responses, events, and webhooks. Times are Unix seconds, durations seconds. */
export class TaskView {
  @ApiProperty({ example: 'task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A' })
  id!: string;

  @ApiProperty({ enum: ['pending', 'completed', 'failed', 'cancelled'] })
  status!: string;

  @ApiProperty({
    type: 'integer',
    minimum: 0,
    maximum: 100,
    description: 'Percentage. Never decreases; reaches 100 only on completion.',
  })
  progress!: number;

  @ApiProperty({
    enum: ['held', 'queued', 'running', 'storing', 'done'],
    description:
      '`held`: it may cost more than its key or account may spend without an approval, and waits for one; nothing is generated before.',
  })
  phase!: string;

  @ApiProperty()
  model!: string;

  @ApiProperty({ enum: ['image'] })
  type!: 'image';

  @ApiProperty({ enum: ['generation', 'edit'] })
  action!: string;

  @ApiProperty({ description: '`x-request-id` of the request that created the task.' })
  request_id!: string;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    example: { seed: 7 },
    description: 'Fields of the request that only this model has, see `capabilities.extra` of GET /v1/models/{id}.',
  })
  extra?: ExtraValues;

  @ApiPropertyOptional({ description: 'Identifier of the end user, as providers get it; absent if there is none.' })
  end_user?: string;

  @ApiPropertyOptional({ type: [String], description: 'Absent if there are none.' })
  tags?: string[];

  @ApiProperty({ type: 'integer' })
  created!: number;

  @ApiPropertyOptional({ type: 'integer', description: 'Completed tasks only.' })
  completed?: number;

  @ApiPropertyOptional({ type: 'integer', description: 'Set in every final state.' })
  finished?: number;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    description:
      'Estimated seconds from `created` to the end. For a finished task, the estimate made when it was accepted. Absent if unknown.',
  })
  estimated_time?: number;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    description:
      'Waiting tasks only: position among the waiting tasks of the account; 1 starts next. API keys take turns, so later tasks of another key may start earlier. Absent if unknown.',
  })
  queue_position?: number;

  @ApiPropertyOptional({ type: 'integer', description: 'Completed tasks only.' })
  actual_time?: number;

  @ApiPropertyOptional({ type: TaskResultView, description: 'Completed tasks only.' })
  result?: TaskResultView;

  @ApiPropertyOptional({ type: TaskSizesView, description: 'Completed tasks only.' })
  sizes?: TaskSizesView;

  @ApiPropertyOptional({
    type: [String],
    description: 'Completed tasks only: options that were adapted or ignored, as text. Absent if there were none.',
  })
  warnings?: string[];

  @ApiPropertyOptional({
    enum: ['kept', 'marked', 'none'],
    description:
      'Completed tasks only: whether the image file is marked as AI-generated. `kept`: original metadata of the provider (content credentials or XMP); `marked`: metadata added by this service (XMP); `none`: not marked.',
  })
  provenance?: 'kept' | 'marked' | 'none';

  @ApiPropertyOptional({ type: TaskErrorView, description: 'Failed tasks only.' })
  error?: TaskErrorView;

  @ApiPropertyOptional({
    enum: ['none', 'unknown'],
    description:
      'Cancelled tasks only: `unknown` if a paid provider had started and may charge this service. See `cost` for what the caller pays.',
  })
  charged?: 'none' | 'unknown';

  @ApiPropertyOptional({
    type: [TaskEventView],
    description: 'With `include=timeline` only: events of the task, oldest first.',
  })
  timeline?: TaskEventView[];
  @ApiPropertyOptional({ type: CostView, description: 'Cost of the task; absent if it is free.' })
  cost?: CostView;
}

/** Response of GET /v1/tasks/{task_id}. */
export class TaskResponse {
  @ApiProperty({ type: 'integer', enum: [200] })
  code!: number;

  @ApiProperty({ type: TaskView })
  data!: TaskView;
}

/** Body of POST /v1/tasks/batch. */
export class TaskBatchRequest {
  @ApiProperty({ type: 'array', items: { type: 'string' }, minItems: 1, maxItems: MAX_BATCH })
  task_ids!: string[];
}

/** Response of POST /v1/tasks/batch. */
export class TaskBatchResponse {
  @ApiProperty({ type: 'integer', enum: [200] })
  code!: number;

  @ApiProperty({ type: [TaskView], description: 'In the requested order, without duplicates.' })
  data!: TaskView[];

  @ApiProperty({ type: [String], description: 'IDs that match none of your tasks, or deleted ones.' })
  missing!: string[];
}

/** Response of GET /v1/tasks. */
export class TaskListResponse {
  @ApiProperty({ enum: ['list'] })
  object!: 'list';

  @ApiProperty({ type: [TaskView] })
  data!: TaskView[];

  @ApiProperty()
  has_more!: boolean;

  @ApiProperty({ type: String, nullable: true, description: 'Pass it as `after` to get the next page.' })
  next!: string | null;
}

interface ViewedTask<T extends ResultImage> extends ResultTask {
  readonly images: readonly T[] | null;
  /** Whether a provider may have charged for a canceled task. */
  readonly charged?: 'none' | 'unknown';
  /** Estimated milliseconds from acceptance to completion. */
  readonly estimatedMs?: number | null | undefined;
  readonly queuePosition?: number | undefined;
  readonly cost?: ViewedCost | null;
}

/** A signed URL and its expiry in Unix seconds. There is no URL once the image has been deleted. */
export interface ImageLink {
  readonly url: string | undefined;
  readonly expiresAt: number;
}

/** The `data` of a task; `link` creates a signed URL for an image. */
export function taskView<T extends ResultImage>(task: ViewedTask<T>, link: (image: T) => ImageLink): TaskView {
  const completed = task.status === 'completed';
  return {
    id: task.id,
    status: task.status,
    progress: completed ? 100 : Math.min(task.progress, 99),
    phase: task.status === 'pending' ? task.phase : 'done',
    model: task.model,
    type: 'image',
    action: task.action,
    request_id: task.requestId,
    ...(task.options.extra === undefined ? {} : { extra: task.options.extra }),
    ...labelsOf(task),
    created: unixSeconds(task.createdAt),
    ...(task.finishedAt === null ? {} : timesOf(task, task.finishedAt, completed)),
    ...expectationOf(task),
    ...(completed ? resultOf(task, link) : {}),
    ...(task.status === 'failed' && task.error !== null ? { error: task.error } : {}),
    ...(task.status === 'cancelled' ? { charged: task.charged ?? 'none' } : {}),
    ...(task.cost ? { cost: costView(task.status, task.cost) } : {}),
  };
}

function labelsOf({ labels }: ResultTask): Pick<TaskView, 'end_user' | 'tags'> {
  return {
    ...(typeof labels?.endUser === 'string' ? { end_user: labels.endUser } : {}),
    ...(labels?.tags ? { tags: [...labels.tags] } : {}),
  };
}

function expectationOf({ estimatedMs, queuePosition }: ViewedTask<ResultImage>): Partial<TaskView> {
  return {
    ...(typeof estimatedMs === 'number' ? { estimated_time: Math.max(1, Math.ceil(estimatedMs / 1_000)) } : {}),
    ...(queuePosition === undefined ? {} : { queue_position: queuePosition }),
  };
}

function resultOf<T extends ResultImage>(task: ViewedTask<T>, link: (image: T) => ImageLink): Partial<TaskView> {
  const images = task.images ?? [];
  const [first] = images;
  const { pixels } = task.options;
  const requested = pixels === null || pixels === undefined ? 'auto' : `${pixels.width}x${pixels.height}`;
  return {
    result: { images: images.map((image) => imageView(image, link(image))) },
    ...(first?.sizes === undefined ? {} : { sizes: { requested, ...first.sizes } }),
    ...warningsOf(task, first),
    ...(first?.provenance === undefined ? {} : { provenance: first.provenance }),
  };
}

function timesOf(task: ResultTask, finishedAt: Date, completed: boolean): Partial<TaskView> {
  const finished = unixSeconds(finishedAt);
  if (!completed) return { finished };
  return { completed: finished, finished, actual_time: finished - unixSeconds(task.createdAt) };
}

function imageView(image: ResultImage, link: ImageLink): TaskImageView {
  return {
    url: link.url === undefined ? [] : [link.url],
    expires_at: link.expiresAt,
    size: measuredSize(image),
    content_type: image.contentType,
  };
}

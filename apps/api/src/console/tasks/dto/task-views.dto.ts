import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { OUTPUT_FORMATS, type OutputFormat } from '#contract/accepted-values.js';
import { CostView } from '#contract/cost-view.js';
import { TASK_PHASES, TASK_STATUSES, type TaskStatus } from '#tasks/row/task-status.js';
import { TaskErrorView, TaskEventView, TaskSizesView, type TaskView } from '#contract/task-view.js';
import type { TaskDetail } from '#tasks/reading/task-details.js';
import { isDeleted, type TaskOptions, type TaskSummary } from '#tasks/row/task.js';
import { DELIVERY_STATES, type DeliveryState } from '#notifications/deliveries/next-step.js';
import { SpendView } from '../../dto/budget-view.dto.js';
import { WaitingView } from '../../dto/waiting-view.dto.js';
import { PageOf } from '../../dto/list-views.dto.js';

class TaskKeyView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;
}

class TaskPersonView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;
}

/** A task in the console's list. */
export class ConsoleTaskRow {
  @ApiProperty()
  id!: string;

  @ApiProperty({ enum: TASK_STATUSES })
  status!: TaskStatus;

  @ApiProperty({ enum: TASK_PHASES })
  phase!: string;

  @ApiProperty({ type: 'integer', minimum: 0, maximum: 100 })
  progress!: number;

  @ApiProperty({ enum: ['generation', 'edit'] })
  action!: 'generation' | 'edit';

  @ApiProperty()
  model!: string;

  @ApiProperty({ example: '16:9' })
  size!: string;

  @ApiProperty({ type: String, nullable: true, example: '2k' })
  resolution!: string | null;

  @ApiProperty({ description: 'In lists, the first 200 characters; empty if the task was deleted.' })
  prompt!: string;

  @ApiProperty({ type: String, nullable: true, format: 'date-time', description: 'When it was deleted.' })
  deleted_at!: string | null;

  @ApiProperty({ type: TaskKeyView })
  key!: TaskKeyView;

  @ApiProperty({ type: TaskPersonView, nullable: true, description: 'User who started the task in the console.' })
  ordered_by!: TaskPersonView | null;

  @ApiProperty({ description: 'A provider test.' })
  provider_test!: boolean;

  @ApiProperty({ description: 'Whether the task is a favorite; favorites and their images are kept beyond retention.' })
  favorite!: boolean;

  @ApiProperty({ description: 'Whether the sandbox generated the images.' })
  sandbox!: boolean;

  @ApiProperty({ format: 'date-time' })
  created_at!: string;

  @ApiProperty({ type: String, nullable: true, format: 'date-time' })
  finished_at!: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description:
      'Signed URL of the thumbnail, or of an image that is small itself; while there is no thumbnail, the path of `GET /tasks/{taskId}/thumbnail`. Null if the task has no image or it was deleted.',
  })
  thumbnail_url!: string | null;

  @ApiProperty({ type: 'integer', description: 'Number of stored images.' })
  image_count!: number;

  @ApiProperty({
    type: String,
    nullable: true,
    format: 'date-time',
    description: 'When the images were deleted; null while they are stored.',
  })
  images_deleted_at!: string | null;

  @ApiProperty({ type: CostView, nullable: true })
  cost!: CostView | null;

  @ApiProperty({ type: String, nullable: true, description: 'The last provider called.' })
  provider!: string | null;

  @ApiProperty({ type: 'integer', description: 'Number of provider calls so far.' })
  calls!: number;

  @ApiProperty({
    type: String,
    nullable: true,
    format: 'date-time',
    description: 'When a task waiting for a retry is tried next.',
  })
  next_try_at!: string | null;

  @ApiProperty({ type: WaitingView, nullable: true, description: 'Why it has not begun; null unless it waits.' })
  waiting!: WaitingView | null;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    description:
      'For its turn: position in its account’s line. Otherwise, in `GET /tasks/{taskId}`: by age among the waiting tasks that the user sees. Null if unknown.',
  })
  position!: number | null;

  @ApiPropertyOptional({ type: TaskErrorView, description: 'Failed tasks only.' })
  error?: TaskErrorView;

  @ApiProperty({ type: String, nullable: true, description: 'ID of the retry of this failed task.' })
  retried_as!: string | null;
}

/** A page of the account's tasks, newest first. */
export class ConsoleTaskPage extends PageOf(ConsoleTaskRow) {
  @ApiProperty({
    type: String,
    nullable: true,
    format: 'date-time',
    description: 'If a search stopped before finding enough results, how far back it got; `next` continues there.',
  })
  searched_until!: string | null;
}

/** The number of matching tasks. */
export class TaskCountView {
  @ApiProperty({ type: 'integer', nullable: true, description: 'Null for a search, whose results are not counted.' })
  count!: number | null;

  @ApiProperty({ description: 'Whether there may be more than counted.' })
  has_more!: boolean;

  @ApiProperty({ description: 'Whether there are few enough tasks to sort by duration or cost.' })
  sortable!: boolean;
}

class OutcomeCountView {
  @ApiProperty({ description: 'Name of a provider, or error code.' })
  name!: string;

  @ApiProperty({ type: 'integer' })
  count!: number;
}

/** Numbers of tasks by the provider called last, and of failed tasks by error code; most first. */
export class OutcomesView {
  @ApiProperty({ type: [OutcomeCountView] })
  providers!: OutcomeCountView[];

  @ApiProperty({ description: 'Whether older tasks were not counted by provider.' })
  more_providers!: boolean;

  @ApiProperty({ type: [OutcomeCountView] })
  errors!: OutcomeCountView[];

  @ApiProperty({ description: 'Whether older failures were not counted by error code.' })
  more_errors!: boolean;
}

/** Failed tasks that may need attention. */
export class OpenFailuresView {
  @ApiProperty({ type: 'integer', description: 'Since midnight UTC; 1,000 at most.' })
  count!: number;
}

class TaskPictureView {
  @ApiProperty({ description: 'Signed.' })
  url!: string;

  @ApiProperty({ format: 'date-time', description: 'Expiry of the URL.' })
  url_expires_at!: string;

  @ApiProperty({ example: '2048x2048' })
  size!: string;

  @ApiProperty({ example: 'image/png' })
  content_type!: string;

  @ApiProperty({ example: 'a-red-fox-x4k9qz.png', description: 'Name for saving it, after the prompt.' })
  file_name!: string;
}

/** A reference image or mask of a task. */
export class SentImageView {
  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Host the image was downloaded from. Null if it was sent with the request.',
  })
  host!: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Path of the image. Null if it is not stored.',
  })
  url!: string | null;
}

/** A webhook delivery of the task, and its state. */
export class TaskDeliveryView {
  @ApiProperty()
  id!: string;

  @ApiProperty({ type: String, nullable: true, description: 'Null if the endpoint was removed.' })
  url!: string | null;

  @ApiProperty({ enum: DELIVERY_STATES })
  status!: DeliveryState;

  @ApiProperty({ type: 'integer' })
  attempts!: number;

  @ApiProperty({ type: 'integer', nullable: true, description: 'HTTP status of the last attempt.' })
  last_status!: number | null;

  @ApiProperty({ format: 'date-time' })
  created_at!: string;

  @ApiProperty({ type: String, nullable: true, format: 'date-time' })
  delivered_at!: string | null;
}

/** An event in the task's timeline. */
export class ConsoleTaskEventView extends TaskEventView {
  @ApiPropertyOptional({
    type: 'number',
    description: 'Successful calls only: when the provider had answered. From then until `ended`, images were stored.',
  })
  answered?: number;

  @ApiPropertyOptional({
    type: 'integer',
    example: 500,
    description: 'Failed calls only: HTTP status of the provider’s response, unless 200.',
  })
  provider_status?: number;

  @ApiPropertyOptional({
    description:
      'Failed calls only, visible to operators: the provider’s error message, without keys and image data, up to 300 characters.',
  })
  provider_message?: string;
}

/** A task with all its details: its order, provider calls, images, and webhooks. */
export class ConsoleTaskView extends ConsoleTaskRow {
  @ApiProperty()
  request_id!: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: { oneOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] },
    description: 'Other requested options, by name.',
  })
  options!: Record<string, string | number | boolean>;

  @ApiPropertyOptional({ type: 'integer', description: 'Seconds from acceptance to the end; absent if unknown.' })
  estimated_time?: number;

  @ApiPropertyOptional({ type: TaskSizesView, description: 'Completed tasks only.' })
  sizes?: TaskSizesView;

  @ApiPropertyOptional({ enum: ['kept', 'marked', 'none'], description: 'Completed tasks only.' })
  provenance?: 'kept' | 'marked' | 'none';

  @ApiProperty({ type: [TaskPictureView] })
  images!: TaskPictureView[];

  @ApiProperty({
    type: String,
    nullable: true,
    format: 'date-time',
    description: 'When the images expire; null if there are none.',
  })
  images_expire_at!: string | null;

  @ApiProperty({ type: 'integer', description: 'Maximum provider calls per task.' })
  most_calls!: number;

  @ApiProperty({ type: [SentImageView], description: 'Reference images of the request.' })
  reference_images!: SentImageView[];

  @ApiProperty({ type: SentImageView, nullable: true, description: 'Mask that marks the area to edit.' })
  mask!: SentImageView | null;

  @ApiProperty({ type: SentImageView, nullable: true, description: 'Drawing over the first image.' })
  markup!: SentImageView | null;

  @ApiProperty({ type: [String] })
  warnings!: string[];

  @ApiProperty({ type: String, nullable: true, description: 'ID of the failed task that this one retries.' })
  retry_of!: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Identifier of the end user.' })
  end_user!: string | null;

  @ApiProperty({ type: [String] })
  tags!: readonly string[];

  @ApiProperty({ type: [ConsoleTaskEventView] })
  timeline!: ConsoleTaskEventView[];

  @ApiProperty({ type: [TaskDeliveryView] })
  webhook_deliveries!: TaskDeliveryView[];
}

/** The data of a task stream's `partial` event. */
export class PartialPictureView {
  @ApiProperty({ type: 'integer', minimum: 0, maximum: 2 })
  index!: number;

  @ApiProperty()
  b64_json!: string;

  @ApiProperty({ enum: OUTPUT_FORMATS })
  output_format!: OutputFormat;
}

/** A newly accepted task, which can be followed by its id. */
export class AcceptedTaskView {
  @ApiProperty()
  task_id!: string;
}

class FirstTaskView {
  @ApiProperty()
  task_id!: string;

  @ApiProperty({ description: 'Its first 200 characters.' })
  prompt!: string;

  @ApiProperty({ type: CostView, nullable: true, description: 'Maximum cost of the retry; null if free.' })
  cost!: CostView | null;
}

class RefusedTaskView {
  @ApiProperty()
  task_id!: string;

  @ApiProperty()
  code!: string;

  @ApiProperty()
  message!: string;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'Seconds after which the same request may work, because a limit or a failure is temporary.',
  })
  retry_after!: number | null;
}

/** The result or preview of a bulk action. */
export class ManyTasksView {
  @ApiProperty({ type: 'integer', description: 'Number of changed tasks; in a dry run, of up to 1,000.' })
  count!: number;

  @ApiProperty({ type: [FirstTaskView], description: 'In a dry run, the newest five of them.' })
  first!: FirstTaskView[];

  @ApiProperty({ type: [RefusedTaskView], description: 'Matching tasks that were not changed.' })
  refused!: RefusedTaskView[];

  @ApiProperty({ description: 'Whether more tasks match than one request handles.' })
  has_more!: boolean;

  @ApiProperty({ type: String, nullable: true, description: 'Pass it as `after` to continue with the rest.' })
  next!: string | null;

  @ApiProperty({
    type: SpendView,
    nullable: true,
    description: 'Maximum total cost of the retries with a known price. Null when canceling.',
  })
  cost!: SpendView | null;

  @ApiProperty({ type: 'integer', description: 'Retries without a known price, not included in `cost`.' })
  unpriced!: number;
}

/** Details that are not in a task's row. */
interface ShownTraits {
  /** A signed URL. */
  readonly thumbnailUrl: string | undefined;
  readonly isSandbox: boolean;
  /** Null unless it waits. */
  readonly waiting: WaitingView | null;
  readonly position: number | null;
}

/** `view`: the task as the public API shows it. */
export function taskRow(
  task: TaskSummary,
  view: TaskView,
  detail: TaskDetail,
  { thumbnailUrl, isSandbox, waiting, position }: ShownTraits,
): ConsoleTaskRow {
  return {
    id: task.id,
    status: task.status,
    phase: view.phase,
    progress: view.progress,
    action: task.action,
    model: task.model,
    size: task.options.size,
    resolution: task.options.resolution,
    prompt: detail.prompt,
    deleted_at: isDeleted(task) ? new Date(task.lifetime?.deletedAt ?? 0).toISOString() : null,
    key: { id: detail.keyId, name: detail.keyName },
    ordered_by: detail.orderedBy,
    provider_test: task.options.onlyProvider !== undefined,
    favorite: detail.isFavorite,
    sandbox: isSandbox,
    created_at: task.createdAt.toISOString(),
    finished_at: task.finishedAt?.toISOString() ?? null,
    thumbnail_url: thumbnailUrl ?? null,
    image_count: detail.objectsDeletedAt === null ? (task.images ?? []).length : 0,
    images_deleted_at: detail.objectsDeletedAt?.toISOString() ?? null,
    cost: view.cost ?? null,
    provider: detail.provider,
    calls: detail.calls,
    next_try_at: task.phase === 'queued' && detail.calls > 0 ? (detail.nextTryAt?.toISOString() ?? null) : null,
    waiting,
    position,
    ...(view.error === undefined ? {} : { error: view.error }),
    retried_as: detail.retriedAs,
  };
}

/** Options under their API names; absent options are omitted. */
export function optionsView(options: TaskOptions): ConsoleTaskView['options'] {
  const all = {
    quality: options.quality,
    background: options.background,
    moderation: options.moderation,
    output_format: options.outputFormat,
    output_compression: options.outputCompression,
    user: options.user,
    partial_images: options.partialImages,
    n: options.n,
    complexity: options.complexity,
    frame_count: options.frameCount,
    frame_duration_ms: options.frameDurationMs,
    svg_model: options.svg?.model,
    svg_effort: options.svg?.reasoning?.effort,
    ...options.extra,
    strict: options.strict,
  };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === null || value === undefined ? [] : [[name, value]])),
  );
}

/** How many tasks were deleted. */
export class DeletedTasksView {
  @ApiProperty({ type: 'integer', description: 'Without those that were deleted before.' })
  count!: number;
}

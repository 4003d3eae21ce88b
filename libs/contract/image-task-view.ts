import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { AppError, errorDetail, type ErrorDetail } from './app-error.js';
import { ErrorDetailView } from './error-response.js';
import { imageResponse, ImageResponse } from './image-response.js';
import { unixSeconds, type ResultImage, type ResultTask } from './image-result.js';

/** A task in the dialect of sub2api, whose clients poll it here. Times are Unix seconds. */
export class ImageTaskView {
  @ApiProperty({ example: 'task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A' })
  id!: string;

  @ApiProperty({ description: 'Same as `id`.' })
  task_id!: string;

  @ApiProperty({ enum: ['image.generation.task'] })
  object!: 'image.generation.task';

  @ApiProperty({ enum: ['processing', 'completed', 'failed'], description: 'A cancelled task has `failed`.' })
  status!: 'processing' | 'completed' | 'failed';

  @ApiProperty({ type: 'integer' })
  created_at!: number;

  @ApiPropertyOptional({ type: 'integer', description: 'When it ended.' })
  completed_at?: number;

  @ApiProperty({ type: 'integer', description: 'Until when its images are kept, at least; later, it is not found.' })
  expires_at!: number;

  @ApiPropertyOptional({ type: 'integer', description: 'Status that the synchronous endpoint would have returned.' })
  http_status?: number;

  @ApiPropertyOptional({ format: 'uri', description: 'URL of the first image.' })
  image_url?: string;

  @ApiPropertyOptional({ type: ImageResponse, description: 'Body of the synchronous endpoint, with links.' })
  result?: ImageResponse;

  @ApiPropertyOptional({ type: ErrorDetailView, description: 'Failed tasks only.' })
  error?: ErrorDetail;
}

/** A task with what is needed to show it; `urls` are those of its images, `expiresAt` is in Unix seconds. */
interface ViewedImageTask {
  readonly task: ResultTask & { readonly images: readonly ResultImage[] | null };
  readonly urls: readonly string[];
  readonly expiresAt: number;
}

/** The body of `GET /v1/images/tasks/{id}`. */
export function imageTaskView({ task, urls, expiresAt }: ViewedImageTask): ImageTaskView {
  const { id, status, createdAt, finishedAt } = task;
  return {
    id,
    task_id: id,
    object: 'image.generation.task',
    status: status === 'pending' ? 'processing' : status === 'completed' ? 'completed' : 'failed',
    created_at: unixSeconds(createdAt),
    ...(finishedAt === null ? {} : { completed_at: unixSeconds(finishedAt) }),
    expires_at: expiresAt,
    ...outcomeOf(task, urls),
  };
}

type Outcome = Pick<ImageTaskView, 'http_status' | 'image_url' | 'result' | 'error'>;

function outcomeOf(task: ViewedImageTask['task'], urls: readonly string[]): Outcome {
  if (task.status === 'pending') return {};
  const [first] = task.images ?? [];
  const [url] = urls;
  if (task.status === 'completed' && first !== undefined && url !== undefined) {
    const data = urls.map((one) => ({ url: one }));
    return { http_status: 200, image_url: url, result: imageResponse(task, first, data) };
  }
  if (task.error === null) {
    const cancelled = new AppError('task_cancelled', 'The task was cancelled.');
    return { http_status: cancelled.status, error: errorDetail(cancelled) };
  }
  const { http_status, ...error } = task.error;
  return { http_status, error };
}

import { ApiProperty } from '@nestjs/swagger';
import { unixSeconds, type ResultTask } from './image-result.js';

class SubmittedTask {
  @ApiProperty({ enum: ['submitted'] })
  status!: 'submitted';

  @ApiProperty({ example: 'task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A' })
  task_id!: string;
}

/** The immediate response, with status 200, for keys with submit mode `apimart`. */
export class SubmittedResponse {
  @ApiProperty({ type: 'integer', enum: [200] })
  code!: number;

  @ApiProperty({ type: [SubmittedTask] })
  data!: SubmittedTask[];
}

/** 202 response of an asynchronous submit. */
export class TaskAcceptance extends SubmittedResponse {
  @ApiProperty({ example: 'task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A' })
  id!: string;

  @ApiProperty({ example: 'task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A' })
  task_id!: string;

  @ApiProperty({ enum: ['image.generation.task'] })
  object!: string;

  @ApiProperty({ enum: ['pending'] })
  status!: 'pending';

  @ApiProperty({ example: '/v1/tasks/task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A' })
  poll_url!: string;

  @ApiProperty({ type: 'integer', description: 'Unix seconds.' })
  created!: number;

  @ApiProperty({ type: 'integer', description: 'Same as `created`.' })
  created_at!: number;

  @ApiProperty({ type: 'integer', description: 'Until when its images are kept, at least, in Unix seconds.' })
  expires_at!: number;
}

/** The response in the format of submit mode `apimart`, which has a code in the body. */
export function submittedResponse(taskId: string): SubmittedResponse {
  return { code: 200, data: [{ status: 'submitted', task_id: taskId }] };
}

/** Path of a task on the service's host; `publicPath` is the path of PUBLIC_URL. */
export function pollUrl(taskId: string, publicPath = ''): string {
  return `${publicPath}/v1/tasks/${taskId}`;
}

/** The response to a caller that does not wait, with the task id in every place that clients read. */
export function taskAcceptance(task: ResultTask, expiresAt: number, publicPath: string): TaskAcceptance {
  const created = unixSeconds(task.createdAt);
  return {
    ...submittedResponse(task.id),
    id: task.id,
    task_id: task.id,
    object: 'image.generation.task',
    status: 'pending',
    poll_url: pollUrl(task.id, publicPath),
    created,
    created_at: created,
    expires_at: expiresAt,
  };
}

import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiParam, ApiQuery, ApiResponse } from '@nestjs/swagger';
import { ImageTaskView } from '#contract/image-task-view.js';
import { TaskBatchRequest, TaskBatchResponse, TaskListResponse, TaskResponse } from '#contract/task-view.js';
import { TASK_STATUSES } from '#tasks/row/task-status.js';
import { COST_HEADER, DescribeErrors, DescribeProtected, REQUEST_ID_HEADER } from '../common/describe.js';
import { MAX_WAIT_SECONDS } from './dto/poll-query.dto.js';

const POLL_HEADERS = {
  ...REQUEST_ID_HEADER,
  ...COST_HEADER,
  'retry-after': {
    description: 'Seconds to wait before the next poll; pending tasks only.',
    schema: { type: 'integer' as const },
  },
};

/** Documents the poll and the long poll. */
export function DescribeTask(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getTask',
      summary: 'Get a task',
      description: 'A failed task also returns 200; see `data.error`.',
    }),
    TaskIdParam(),
    ApiQuery({
      name: 'wait',
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: MAX_WAIT_SECONDS },
      description: 'Long poll: respond when `status` or `phase` changes, or after this many seconds.',
    }),
    ApiQuery({
      name: 'include',
      required: false,
      enum: ['timeline'],
      description: '`timeline` adds the events of the task, including each provider call and its outcome.',
    }),
    ApiQuery({ name: 'language', required: false, type: String, description: 'Accepted but ignored.' }),
    ApiResponse({
      status: 200,
      type: TaskResponse,
      headers: POLL_HEADERS,
    }),
    DescribeErrors(400, 404, 429),
    DescribeProtected(),
  );
}

/** Documents the poll in the dialect of sub2api. */
export function DescribeImageTask(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getImageTask',
      summary: 'Get a task, in the dialect of sub2api',
      description:
        'For clients of sub2api, which poll here after a 202 of `/v1/images/generations/async` and `/v1/images/edits/async`. ' +
        'Other clients poll `GET /v1/tasks/{taskId}`, which says more. A failed task also returns 200; see `error`.',
    }),
    TaskIdParam(),
    ApiResponse({ status: 200, type: ImageTaskView, headers: POLL_HEADERS }),
    DescribeErrors(404, 429),
    DescribeProtected(),
  );
}

/** Documents the event stream as text, because OpenAPI has no schema for events. */
export function DescribeTaskEvents(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'followTask',
      summary: 'Stream task updates',
      description:
        'Server-sent events: `task.updated` with the body of `GET /v1/tasks/{taskId}` as data, sent immediately and on each change until the task ends. Comments (`: ping`) keep the connection alive. If the stream ends before the task, open it again.',
    }),
    TaskIdParam(),
    ApiResponse({
      status: 200,
      headers: REQUEST_ID_HEADER,
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    }),
    DescribeErrors(404),
    DescribeProtected(),
  );
}

/** Documents a response that omits unknown tasks instead of failing. */
export function DescribeTaskBatch(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getTasks',
      summary: 'Get several tasks at once',
      description: 'IDs of tasks that do not exist or belong to another account are listed in `missing`.',
    }),
    ApiBody({ type: TaskBatchRequest }),
    ApiResponse({ status: 200, type: TaskBatchResponse, headers: REQUEST_ID_HEADER }),
    DescribeErrors(400, 413, 415),
    DescribeProtected(),
  );
}

/** Documents the cost of canceling a task whose provider has started. */
export function DescribeCancel(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'cancelTask',
      summary: 'Cancel a task',
      description:
        'A queued or running task is cancelled immediately. A running provider call is aborted and its result discarded, but it may still be charged (`data.charged`, `data.cost`). Cancelling a finished or cancelled task changes nothing. Counts as a poll for the rate limit.',
    }),
    TaskIdParam(),
    ApiResponse({ status: 200, type: TaskResponse, headers: REQUEST_ID_HEADER }),
    DescribeErrors(404),
    DescribeProtected(),
  );
}

function TaskIdParam(): MethodDecorator {
  return ApiParam({ name: 'taskId', type: String, example: 'task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A' });
}

/** Documents the pages and filters of the list. */
export function DescribeTaskList(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'listTasks',
      summary: 'List your tasks, newest first',
      description: 'Tasks of all API keys of the account. Pass `next` of a page as `after` to get the following page.',
    }),
    ApiQuery({ name: 'limit', required: false, schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 } }),
    ApiQuery({ name: 'after', required: false, type: String, description: '`next` of the previous page.' }),
    ApiQuery({ name: 'status', required: false, enum: TASK_STATUSES }),
    ApiQuery({
      name: 'since',
      required: false,
      schema: { type: 'integer' },
      description: 'Only tasks created at or after this Unix time, in seconds.',
    }),
    ApiQuery({
      name: 'end_user',
      required: false,
      type: String,
      description: 'Only tasks of this end user: its identifier, as `safety_identifier` of responses shows it.',
    }),
    ApiQuery({ name: 'tag', required: false, type: String, description: 'Only tasks with this tag.' }),
    ApiResponse({ status: 200, type: TaskListResponse, headers: REQUEST_ID_HEADER }),
    DescribeErrors(400, 429),
    DescribeProtected(),
  );
}

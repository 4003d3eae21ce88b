import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiParam, ApiQuery, ApiResponse } from '@nestjs/swagger';
import { TaskBatchRequest, TaskBatchResponse, TaskListResponse, TaskResponse } from '#contract/task-view.js';
import { TASK_STATUSES } from '#tasks/task-status.js';
import { DescribeErrors, DescribeProtected, REQUEST_ID_HEADER } from '../common/describe.js';
import { MAX_WAIT_SECONDS } from './dto/poll-query.dto.js';

/** Documents the poll and the long poll. */
export function DescribeTask(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getTask',
      summary: 'Get a task',
      description: 'A failed task is answered with 200 too: `data.error` says what went wrong.',
    }),
    TaskIdParam(),
    ApiQuery({
      name: 'wait',
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: MAX_WAIT_SECONDS },
      description: 'Answer at the first change of `status` or `phase`, or after so many seconds.',
    }),
    ApiQuery({
      name: 'include',
      required: false,
      enum: ['timeline'],
      description: '`timeline` adds what has happened to the task: every call to a provider, and how it ended.',
    }),
    ApiQuery({ name: 'language', required: false, type: String, description: 'Accepted and ignored.' }),
    ApiResponse({
      status: 200,
      type: TaskResponse,
      headers: {
        ...REQUEST_ID_HEADER,
        'retry-after': { description: 'Seconds until the next poll, while pending.', schema: { type: 'integer' } },
      },
    }),
    DescribeErrors(400, 404, 429),
    DescribeProtected(),
  );
}

/** Documents the event stream as text, because OpenAPI has no schema for events. */
export function DescribeTaskEvents(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'followTask',
      summary: 'Follow a task until it has ended',
      description:
        'Server-sent events: `task.updated` with the body of `GET /v1/tasks/{taskId}` as data, at once and at every change, until the task has ended. Comments (`: ping`) keep the connection alive. A stream that ends before its task can be opened again.',
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
      description: 'Ids of tasks that do not exist, or belong to another account, are in `missing`.',
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
        'A queued task ends at once. A running one does too: its provider is told to stop, and what it still returns is discarded. Once a provider that charges is at work, the image is paid for (`data.charged`, `data.cost`). A task that has ended stays as it is. Cancelling twice is cancelling once. Counts as a poll.',
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
      description: 'Those of all keys of the account. `next` of a page is `after` of the following one.',
    }),
    ApiQuery({ name: 'limit', required: false, schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 } }),
    ApiQuery({ name: 'after', required: false, type: String, description: '`next` of the page before.' }),
    ApiQuery({ name: 'status', required: false, enum: TASK_STATUSES }),
    ApiQuery({
      name: 'since',
      required: false,
      schema: { type: 'integer' },
      description: 'Only tasks created at or after this unix second.',
    }),
    ApiResponse({ status: 200, type: TaskListResponse, headers: REQUEST_ID_HEADER }),
    DescribeErrors(400, 429),
    DescribeProtected(),
  );
}

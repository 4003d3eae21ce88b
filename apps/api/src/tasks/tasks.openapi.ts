import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiParam, ApiQuery, ApiResponse } from '@nestjs/swagger';
import { ImageTaskView } from '#contract/image-task-view.js';
import { TaskBatchRequest, TaskBatchResponse, TaskListResponse, TaskResponse } from '#contract/task-view.js';
import { DeletedTaskResponse, ReceiptKeys, TaskErasureView, TaskReceipt } from '#contract/task-receipt.js';
import { TASK_STATUSES } from '#tasks/row/task-status.js';
import { COST_HEADER, DescribeErrors, DescribeProtected, PUBLIC, REQUEST_ID_HEADER } from '../common/describe.js';
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
    DescribeErrors(400, 404, 410, 429),
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
    DescribeErrors(404, 410, 429),
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
    DescribeErrors(404, 410),
    DescribeProtected(),
  );
}

/** Documents a response that omits unknown tasks instead of failing. */
export function DescribeTaskBatch(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getTasks',
      summary: 'Get several tasks at once',
      description:
        'IDs of tasks that do not exist, were deleted, or belong to another account are listed in `missing`.',
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
    DescribeErrors(404, 410),
    DescribeProtected(),
  );
}

/** Documents what goes and what stays. */
export function DescribeDelete(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'deleteTask',
      summary: 'Delete a task',
      description:
        'A pending task is cancelled first. Prompt, images, and everything else that the request said are erased; what it cost stays. ' +
        'From then on, the task and the links to its images answer 410 `task_deleted`. Deleting it again gives the same answer. ' +
        'Needs the same permission as cancelling; counts as a poll for the rate limit.',
    }),
    TaskIdParam(),
    ApiResponse({
      status: 200,
      type: DeletedTaskResponse,
      headers: REQUEST_ID_HEADER,
      description: 'Everything is erased.',
    }),
    ApiResponse({
      status: 202,
      type: DeletedTaskResponse,
      headers: REQUEST_ID_HEADER,
      description:
        'The task is deleted, and some of its contents are still being erased: of a task that a provider was working on, usually within a second, and for half a minute at most when its worker died.',
    }),
    DescribeErrors(404, 429),
    DescribeProtected(),
  );
}

/** Documents a deletion that goes on after the response. */
export function DescribeDeleteMany(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'deleteTasks',
      summary: 'Delete all tasks that match',
      description:
        'Tasks that the API key may cancel, created before the request. They are deleted in the background; ' +
        '`GET /v1/erasures/{id}` says how far it is. Without a filter, `all=true` confirms that all of them are meant. ' +
        'For the whole account, only keys of an owner, or of no user, delete without an end user or a tag.',
    }),
    ApiQuery({
      name: 'before',
      required: false,
      schema: { type: 'integer' },
      description: 'Only tasks created before this Unix time, in seconds.',
    }),
    ApiQuery({ name: 'status', required: false, enum: TASK_STATUSES }),
    ApiQuery({ name: 'end_user', required: false, description: 'Only tasks of this end user.' }),
    ApiQuery({ name: 'tag', required: false, description: 'Only tasks with this tag.' }),
    ApiQuery({ name: 'all', required: false, enum: ['true'] }),
    ApiResponse({ status: 202, type: TaskErasureView, headers: REQUEST_ID_HEADER }),
    DescribeErrors(400, 429),
    DescribeProtected(),
  );
}

/** Documents its progress. */
export function DescribeErasure(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getTaskErasure',
      summary: 'Get the progress of a deletion',
      description: 'How many of the matching tasks were deleted so far, and whether all of their contents are gone.',
    }),
    ApiParam({ name: 'id', type: String, example: 'erasure_01JD0Z8Q4M0W3E5V6T7R8Y9X0A' }),
    ApiResponse({ status: 200, type: TaskErasureView, headers: REQUEST_ID_HEADER }),
    DescribeErrors(404, 429),
    DescribeProtected(),
  );
}

/** Documents the proof. */
export function DescribeReceipt(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getTaskReceipt',
      summary: 'Get the receipt of a deleted task',
      description: '404 until the last of its contents is gone, and once retention has removed the rest of the task.',
    }),
    TaskIdParam(),
    ApiResponse({ status: 200, type: TaskReceipt, headers: REQUEST_ID_HEADER }),
    DescribeErrors(404, 429),
    DescribeProtected(),
  );
}

/** Documents the keys, which need no API key. */
export function DescribeReceiptKeys(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'listReceiptKeys',
      summary: 'Get the public keys of receipts',
      description: 'A JSON Web Key Set: the present key and, while SECRET_KEY is being changed, the other one.',
      ...PUBLIC,
    }),
    ApiResponse({ status: 200, type: ReceiptKeys, headers: REQUEST_ID_HEADER }),
    DescribeErrors(405, 500),
  );
}

/** Documents the id of a task in a path. */
export function TaskIdParam(): MethodDecorator {
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

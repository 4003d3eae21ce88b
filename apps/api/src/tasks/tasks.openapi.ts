import { applyDecorators } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiQuery, ApiResponse } from '@nestjs/swagger';
import { TaskListResponse, TaskResponse } from '#contract/task-view.js';
import { TASK_STATUSES } from '#tasks/task-status.js';
import { DescribeErrors, DescribeProtected, REQUEST_ID_HEADER } from '../http/describe.js';

export function DescribeTask(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getTask',
      summary: 'Look at a task',
      description: 'A failed task is answered with 200 too: `data.error` says what went wrong.',
    }),
    ApiParam({ name: 'taskId', example: 'task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A' }),
    ApiQuery({ name: 'language', required: false, description: 'Accepted and ignored.' }),
    ApiResponse({
      status: 200,
      type: TaskResponse,
      headers: {
        ...REQUEST_ID_HEADER,
        'retry-after': { description: 'Seconds until the next poll, while pending.', schema: { type: 'integer' } },
      },
    }),
    DescribeErrors(404, 429),
    DescribeProtected(),
  );
}

export function DescribeTaskList(): MethodDecorator {
  return applyDecorators(
    ApiOperation({ operationId: 'listTasks', summary: 'List your tasks, newest first' }),
    ApiQuery({ name: 'limit', required: false, schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 } }),
    ApiQuery({ name: 'after', required: false, description: '`next` of the page before.' }),
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

import { applyDecorators } from '@nestjs/common';
import { ApiOperation, ApiResponse } from '@nestjs/swagger';
import { TaskResponse } from '#contract/task-view.js';
import { DescribeErrors, DescribeProtected, REQUEST_ID_HEADER } from '../common/describe.js';
import { TaskIdParam } from './tasks.openapi.js';

const WHO =
  'For keys with the permission `approve`, which is not included in that of any other key; a key cannot decide about its own requests. Of several decisions, the first counts.';

/** Documents what an approval starts. */
export function DescribeApprove(): MethodDecorator {
  return describe(
    'approveTask',
    'Approve a held task',
    'The task takes its place in the queue as if it had arrived now.',
  );
}

/** Documents how a rejected task ends. */
export function DescribeReject(): MethodDecorator {
  return describe(
    'rejectTask',
    'Reject a held task',
    'The task fails with `approval_rejected`, and what was reserved for it is refunded. Its caller reads the reason in the error of the task.',
  );
}

function describe(operationId: string, summary: string, what: string): MethodDecorator {
  return applyDecorators(
    ApiOperation({ operationId, summary, description: `${what} ${WHO} Counts as a poll for the rate limit.` }),
    TaskIdParam(),
    ApiResponse({ status: 200, type: TaskResponse, headers: REQUEST_ID_HEADER }),
    DescribeErrors(400, 403, 404, 409),
    DescribeProtected(),
  );
}

import { applyDecorators } from '@nestjs/common';
import { ApiOperation, ApiQuery, ApiResponse } from '@nestjs/swagger';
import { USAGE_GROUPINGS, UsageResponse } from '#contract/usage-view.js';
import { DescribeErrors, DescribeProtected, REQUEST_ID_HEADER } from '../common/describe.js';

const second = { type: 'integer' as const };
const text = { type: 'string' as const };

/** Documents the usage. */
export function DescribeUsage(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getUsage',
      summary: 'Get usage and cost',
      description:
        'By day (UTC) and by model, key, end user, or tag. Sums are those of the ledger. A key that only sees its own tasks gets their ' +
        'usage, by model or key.',
    }),
    ApiQuery({
      name: 'group_by',
      required: false,
      enum: USAGE_GROUPINGS,
      description: '`end_user` and `tag` list the 100 that spent most. Default `model`.',
    }),
    ApiQuery({
      name: 'start',
      required: false,
      schema: second,
      description: 'Unix seconds. Default: 30 days before `end`.',
    }),
    ApiQuery({ name: 'end', required: false, schema: second, description: 'Unix seconds, exclusive. Default: now.' }),
    ApiQuery({ name: 'end_user', required: false, schema: text, description: 'Only this end user, by day.' }),
    ApiQuery({ name: 'tag', required: false, schema: text, description: 'Only this tag, by day.' }),
    ApiResponse({ status: 200, type: UsageResponse, headers: REQUEST_ID_HEADER }),
    DescribeErrors(400, 429),
    DescribeProtected(),
  );
}

import { applyDecorators } from '@nestjs/common';
import { ApiOperation, ApiProperty, ApiResponse } from '@nestjs/swagger';
import { DescribeErrors, PUBLIC, REQUEST_ID_HEADER } from '../common/describe.js';
import { UNREADY_REASONS, type UnreadyReason } from './readiness.js';

class HealthResponse {
  @ApiProperty({ enum: ['ok'] })
  status!: string;
}

class ReadinessResponse {
  @ApiProperty({ enum: ['ready', 'not ready'] })
  status!: string;

  @ApiProperty({
    enum: UNREADY_REASONS,
    isArray: true,
    description: 'What keeps it from being ready; the log says why.',
  })
  reasons!: UnreadyReason[];
}

/** Documents an answer that is 200 as long as the process can answer at all. */
export function DescribeHealth(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getHealth',
      summary: 'Whether the process runs',
      description: 'Looks at nothing else: a process that answers is alive.',
      ...PUBLIC,
    }),
    ApiResponse({ status: 200, type: HealthResponse, headers: REQUEST_ID_HEADER }),
    DescribeErrors(405),
  );
}

/** Documents the same body with 200 and 503; it is no ErrorResponse. */
export function DescribeReadiness(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getReadiness',
      summary: 'Whether the process can do its work',
      description: 'Looks at the services it needs; `reasons` names those that keep it from working.',
      ...PUBLIC,
    }),
    ApiResponse({ status: 200, type: ReadinessResponse, headers: REQUEST_ID_HEADER }),
    ApiResponse({ status: 503, type: ReadinessResponse, headers: REQUEST_ID_HEADER }),
    DescribeErrors(405),
  );
}

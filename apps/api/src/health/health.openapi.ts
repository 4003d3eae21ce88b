import { applyDecorators } from '@nestjs/common';
import { ApiOperation, ApiProperty, ApiResponse } from '@nestjs/swagger';
import { UNREADY_REASONS, type UnreadyReason } from '#health/readiness.js';
import { DescribeErrors, PUBLIC, REQUEST_ID_HEADER } from '../common/describe.js';

class HealthResponse {
  @ApiProperty({ enum: ['ok'] })
  status!: string;
}

class DependencyResponse {
  @ApiProperty({ enum: ['unknown', 'ok', 'failing'], description: '`unknown`: not checked yet.' })
  state!: string;

  @ApiProperty({ format: 'date-time', description: 'Start of the current state.' })
  since!: string;

  @ApiProperty({ format: 'date-time', type: String, nullable: true, description: 'Time of the last check.' })
  checked_at!: string | null;
}

class DependenciesResponse {
  @ApiProperty({ description: 'Postgres.' })
  database!: DependencyResponse;

  @ApiProperty({ description: 'Whether all database migrations of this version are applied.' })
  migrations!: DependencyResponse;

  @ApiProperty({ description: 'Whether Postgres commits transactions.' })
  commits!: DependencyResponse;

  @ApiProperty({ description: 'Redis.' })
  queue!: DependencyResponse;

  @ApiProperty({ description: 'Object store.' })
  storage!: DependencyResponse;
}

class ReadinessResponse {
  @ApiProperty({ enum: ['ready', 'not ready'] })
  status!: string;

  @ApiProperty({
    enum: UNREADY_REASONS,
    isArray: true,
    description: 'Why the process is not ready; see the log for details.',
  })
  reasons!: UnreadyReason[];

  @ApiProperty({ description: 'Results of the latest background checks.' })
  dependencies!: DependenciesResponse;
}

/** Documents a response that is 200 as long as the process responds at all. */
export function DescribeHealth(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getHealth',
      summary: 'Check that the process is alive',
      description: 'Liveness probe: checks no dependencies.',
      ...PUBLIC,
    }),
    ApiResponse({ status: 200, type: HealthResponse, headers: REQUEST_ID_HEADER }),
    DescribeErrors(405),
  );
}

/** Documents the same body for 200 and 503; it is not an ErrorResponse. */
export function DescribeReadiness(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getReadiness',
      summary: 'Check that the process is ready for requests',
      description:
        'Readiness probe: reports the results of background checks. `reasons` lists what makes the process unready. ' +
        'A process without its queue or object store is still ready: it answers reads and rejects what it cannot do.',
      ...PUBLIC,
    }),
    ApiResponse({ status: 200, type: ReadinessResponse, headers: REQUEST_ID_HEADER }),
    ApiResponse({ status: 503, type: ReadinessResponse, headers: REQUEST_ID_HEADER }),
    DescribeErrors(405),
  );
}

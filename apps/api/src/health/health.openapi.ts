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

  @ApiProperty({ format: 'date-time', description: 'Since when it is in this state.' })
  since!: string;

  @ApiProperty({ format: 'date-time', type: String, nullable: true, description: 'When it was last checked.' })
  checked_at!: string | null;
}

class DependenciesResponse {
  @ApiProperty({ description: 'Postgres.' })
  database!: DependencyResponse;

  @ApiProperty({ description: 'Whether the database has the tables of this version.' })
  migrations!: DependencyResponse;

  @ApiProperty({ description: 'Redis.' })
  queue!: DependencyResponse;

  @ApiProperty({ description: 'The store of images.' })
  storage!: DependencyResponse;
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

  @ApiProperty({ description: 'What the last checks in the background found.' })
  dependencies!: DependenciesResponse;
}

/** Documents a response that is 200 as long as the process responds at all. */
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

/** Documents the same body for 200 and 503; it is not an ErrorResponse. */
export function DescribeReadiness(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getReadiness',
      summary: 'Whether the process can answer requests',
      description:
        'Reads what checks in the background found. `reasons` names what keeps the process from answering. ' +
        'Without its queue or its store a process is ready: it answers reads, and rejects what it can’t do.',
      ...PUBLIC,
    }),
    ApiResponse({ status: 200, type: ReadinessResponse, headers: REQUEST_ID_HEADER }),
    ApiResponse({ status: 503, type: ReadinessResponse, headers: REQUEST_ID_HEADER }),
    DescribeErrors(405),
  );
}

import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ModerationDetails } from './moderation-details.js';

/** The `error` object of a response. */
export class ErrorDetailView {
  @ApiProperty({ example: 'invalid_request_error' })
  type!: string;

  @ApiProperty({ type: String, nullable: true, example: 'invalid_value' })
  code!: string | null;

  @ApiProperty({ type: String, nullable: true, example: 'size' })
  param!: string | null;

  @ApiProperty({ example: 'size must be one of auto, 1:1, 3:2, ...' })
  message!: string;

  @ApiPropertyOptional({ description: 'ID of the task, if one was created before the error.' })
  task_id?: string;

  @ApiPropertyOptional({
    type: ModerationDetails,
    description: 'Of `moderation_blocked` only: what was blocked, if the provider says so.',
  })
  moderation_details?: ModerationDetails;
}

/** ErrorBody, as the OpenAPI document shows it. */
export class ErrorResponse {
  @ApiProperty({ enum: ['error'] })
  type!: 'error';

  @ApiProperty({ type: ErrorDetailView })
  error!: ErrorDetailView;

  @ApiProperty({ example: 'req_01JD0Z8Q4M0W3E5V6T7R8Y9X0A', description: 'Same as the `x-request-id` header.' })
  request_id!: string;

  @ApiPropertyOptional({ type: 'integer', description: 'HTTP status; on /v1/tasks only.' })
  code?: number;
}

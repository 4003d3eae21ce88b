import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

/** Why an input file was refused. */
export class BatchErrorView {
  @ApiProperty({ example: 'duplicate_custom_id' })
  code!: string;

  @ApiProperty()
  message!: string;

  @ApiProperty({ type: String, nullable: true, example: 'custom_id' })
  param!: string | null;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Line of the input file, from 1.' })
  line!: number | null;
}

/** The problems of an input file. */
export class BatchErrors {
  @ApiProperty({ enum: ['list'] })
  object!: 'list';

  @ApiProperty({ type: [BatchErrorView] })
  data!: BatchErrorView[];
}

/** How many requests a batch has. */
export class BatchCounts {
  @ApiProperty({ type: 'integer' })
  total!: number;

  @ApiProperty({ type: 'integer' })
  completed!: number;

  @ApiProperty({ type: 'integer' })
  failed!: number;
}

const STATUSES = [
  ...['validating', 'failed', 'in_progress', 'finalizing', 'completed', 'expired', 'cancelling', 'cancelled'],
];
const UNIX = { type: 'integer', nullable: true, description: 'Unix seconds.' } as const;

/** A batch, as OpenAI's SDKs read it. */
export class BatchView {
  @ApiProperty({ example: 'batch_01JD0Z8Q4M0W3E5V6T7R8Y9X0A' })
  id!: string;

  @ApiProperty({ enum: ['batch'] })
  object!: 'batch';

  @ApiProperty({ enum: ['/v1/images/generations', '/v1/images/edits', '/v1/chat/completions', '/v1/responses'] })
  endpoint!: string;

  @ApiProperty({ type: BatchErrors, nullable: true })
  errors!: BatchErrors | null;

  @ApiProperty({ example: 'file_01JD0Z8Q4M0W3E5V6T7R8Y9X0A' })
  input_file_id!: string;

  @ApiProperty({ enum: ['24h'] })
  completion_window!: '24h';

  @ApiProperty({ enum: STATUSES })
  status!: string;

  @ApiProperty({ type: String, nullable: true, description: 'Results of requests that succeeded, after the end.' })
  output_file_id!: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'All other requests, after the end.' })
  error_file_id!: string | null;

  @ApiProperty({ type: 'integer', description: 'Unix seconds.' })
  created_at!: number;

  @ApiProperty(UNIX)
  in_progress_at!: number | null;

  @ApiProperty({ type: 'integer', description: 'Unix seconds.' })
  expires_at!: number;

  @ApiProperty(UNIX)
  finalizing_at!: number | null;

  @ApiProperty(UNIX)
  completed_at!: number | null;

  @ApiProperty(UNIX)
  failed_at!: number | null;

  @ApiProperty(UNIX)
  expired_at!: number | null;

  @ApiProperty(UNIX)
  cancelling_at!: number | null;

  @ApiProperty(UNIX)
  cancelled_at!: number | null;

  @ApiProperty({ type: BatchCounts })
  request_counts!: BatchCounts;

  @ApiPropertyOptional({ type: 'object', additionalProperties: { type: 'string' }, nullable: true })
  metadata!: Readonly<Record<string, string>> | null;
}

/** A page of batches. */
export class BatchList {
  @ApiProperty({ enum: ['list'] })
  object!: 'list';

  @ApiProperty({ type: [BatchView] })
  data!: BatchView[];

  @ApiProperty({ type: String, nullable: true })
  first_id!: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Pass it as `after` to get the next page.' })
  last_id!: string | null;

  @ApiProperty()
  has_more!: boolean;
}

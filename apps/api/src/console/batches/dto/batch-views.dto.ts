import { ApiProperty } from '@nestjs/swagger';
import { BATCH_ENDPOINTS, BATCH_STATUSES, type Batch } from '#batches/batch.js';
import { BatchErrorView } from '#contract/batch-view.js';
import { PageOf } from '../../dto/list-views.dto.js';
import { SpendView } from '../../dto/budget-view.dto.js';

/** The files of a batch that can be downloaded. */
export const BATCH_FILES = ['input', 'output', 'errors'] as const;
export type BatchFileName = (typeof BATCH_FILES)[number];

const TIME = { type: String, nullable: true, format: 'date-time' } as const;

/** A batch in the console's list. */
export class ConsoleBatchRow {
  @ApiProperty()
  id!: string;

  @ApiProperty({ enum: BATCH_STATUSES })
  status!: Batch['status'];

  @ApiProperty({ enum: BATCH_ENDPOINTS })
  endpoint!: string;

  @ApiProperty({ type: String, nullable: true, description: 'Null once the input file was deleted or has expired.' })
  file_name!: string | null;

  @ApiProperty({ type: 'integer', description: '0 until the file has been checked.' })
  total!: number;

  @ApiProperty({ type: 'integer' })
  completed!: number;

  @ApiProperty({ type: 'integer' })
  failed!: number;

  @ApiProperty({ type: SpendView, nullable: true, description: 'Of the lines that have ended; null for chats.' })
  spent!: SpendView | null;

  @ApiProperty({ format: 'date-time' })
  created_at!: string;

  @ApiProperty({ format: 'date-time', description: 'When the lines that are left expire.' })
  expires_at!: string;

  @ApiProperty(TIME)
  ended_at!: string | null;
}

/** A page of batches. */
export class ConsoleBatchPage extends PageOf(ConsoleBatchRow, 'Newest first.') {}

/** A line that has no image. */
export class FailedLineView {
  @ApiProperty()
  custom_id!: string;

  @ApiProperty({ example: 'moderation_blocked' })
  code!: string;

  @ApiProperty()
  message!: string;
}

/** A batch with what failed in it. */
export class ConsoleBatchView extends ConsoleBatchRow {
  @ApiProperty({ type: [BatchErrorView], description: 'Why the file was refused; empty if it was not.' })
  problems!: BatchErrorView[];

  @ApiProperty({ type: [FailedLineView], description: 'The first 20, in the order of the file.' })
  failed_lines!: FailedLineView[];

  @ApiProperty({ enum: BATCH_FILES, isArray: true, description: 'Those that can be downloaded.' })
  files!: BatchFileName[];
}

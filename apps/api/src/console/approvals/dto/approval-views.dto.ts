import { ApiProperty } from '@nestjs/swagger';
import { ConsoleTaskRow, SentImageView } from '../../tasks/dto/task-views.dto.js';

/** A request that waits for an approval. */
export class ApprovalView {
  @ApiProperty({ type: ConsoleTaskRow })
  task!: ConsoleTaskRow;

  @ApiProperty({ type: [SentImageView], description: 'Reference images of the request.' })
  reference_images!: SentImageView[];

  @ApiProperty({ example: '0.500000', description: 'What the request could have cost without an approval.' })
  approve_above!: string;

  @ApiProperty({ format: 'date-time', description: 'When it fails unless it is approved.' })
  expires_at!: string;
}

/** Requests that wait for an approval. */
export class ApprovalListView {
  @ApiProperty({ type: [ApprovalView], description: 'Oldest first; 50 at most.' })
  data!: ApprovalView[];

  @ApiProperty({ type: 'integer', description: 'How many there are.' })
  count!: number;
}

/** How many requests wait for an approval. */
export class ApprovalCountView {
  @ApiProperty({ type: 'integer' })
  count!: number;
}

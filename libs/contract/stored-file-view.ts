import { ApiProperty } from '@nestjs/swagger';

/** A file of a batch, as OpenAI's SDKs read it. */
export class StoredFileView {
  @ApiProperty({ example: 'file_01JD0Z8Q4M0W3E5V6T7R8Y9X0A' })
  id!: string;

  @ApiProperty({ enum: ['file'] })
  object!: 'file';

  @ApiProperty({ type: 'integer' })
  bytes!: number;

  @ApiProperty({ type: 'integer', description: 'Unix seconds.' })
  created_at!: number;

  @ApiProperty({ type: 'integer', description: 'When it is deleted, in Unix seconds.' })
  expires_at!: number;

  @ApiProperty({ example: 'requests.jsonl' })
  filename!: string;

  @ApiProperty({ enum: ['batch', 'batch_output'] })
  purpose!: string;

  @ApiProperty({ enum: ['processed'] })
  status!: 'processed';
}

/** A page of files. */
export class StoredFileList {
  @ApiProperty({ enum: ['list'] })
  object!: 'list';

  @ApiProperty({ type: [StoredFileView] })
  data!: StoredFileView[];

  @ApiProperty({ type: String, nullable: true })
  first_id!: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Pass it as `after` to get the next page.' })
  last_id!: string | null;

  @ApiProperty()
  has_more!: boolean;
}

/** The answer to a deletion. */
export class DeletedFile {
  @ApiProperty()
  id!: string;

  @ApiProperty({ enum: ['file'] })
  object!: 'file';

  @ApiProperty()
  deleted!: boolean;
}

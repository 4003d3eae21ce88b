import { ApiProperty } from '@nestjs/swagger';

/** Proof that a task was deleted. Times are Unix seconds. */
export class TaskReceipt {
  @ApiProperty({ enum: ['task.receipt'] })
  object!: 'task.receipt';

  @ApiProperty({ example: 'task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A', description: 'ID of the task.' })
  id!: string;

  @ApiProperty({ type: 'integer', description: 'When it was deleted: nobody could read it from then on.' })
  deleted_at!: number;

  @ApiProperty({ type: 'integer', description: 'When the last of its contents was gone.' })
  erased_at!: number;

  @ApiProperty({ type: 'integer', description: 'Number of generated images that were deleted.' })
  images!: number;

  @ApiProperty({ type: 'integer', description: 'Number of images of its request that were deleted.' })
  reference_images!: number;

  @ApiProperty({
    type: 'integer',
    description: 'Number of uploads that were deleted, because no other task used them.',
  })
  uploads!: number;

  @ApiProperty({
    example: 'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    description:
      'SHA-256 over the SHA-256 digests of the generated images: in lowercase hex, sorted, each followed by a line break.',
  })
  digest!: string;

  @ApiProperty({ example: 'f3a1c09b55d2', description: '`kid` of the signing key in `GET /v1/receipts/keys`.' })
  key_id!: string;

  @ApiProperty({ description: 'The fields above as a JSON Web Signature (compact, EdDSA), to be verified offline.' })
  jws!: string;
}

/** Response of DELETE /v1/tasks/{task_id}. */
export class DeletedTaskResponse {
  @ApiProperty({ example: 'task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A' })
  id!: string;

  @ApiProperty({ enum: ['task.deleted'] })
  object!: 'task.deleted';

  @ApiProperty({ enum: [true] })
  deleted!: true;

  @ApiProperty({ type: TaskReceipt, nullable: true, description: 'Null until the last of its contents is gone (202).' })
  receipt!: TaskReceipt | null;
}

/** A public key (RFC 8037). */
class ReceiptKey {
  @ApiProperty({ enum: ['OKP'] })
  kty!: 'OKP';

  @ApiProperty({ enum: ['Ed25519'] })
  crv!: 'Ed25519';

  @ApiProperty({ description: 'The public key, in base64url.' })
  x!: string;

  @ApiProperty({ example: 'f3a1c09b55d2' })
  kid!: string;

  @ApiProperty({ enum: ['EdDSA'] })
  alg!: 'EdDSA';

  @ApiProperty({ enum: ['sig'] })
  use!: 'sig';
}

/** Response of GET /v1/receipts/keys, a JSON Web Key Set. */
export class ReceiptKeys {
  @ApiProperty({ type: [ReceiptKey] })
  keys!: ReceiptKey[];
}

/** A request to delete all tasks that match. */
export class TaskErasureView {
  @ApiProperty({ example: 'erasure_01JD0Z8Q4M0W3E5V6T7R8Y9X0A' })
  id!: string;

  @ApiProperty({ enum: ['task.erasure'] })
  object!: 'task.erasure';

  @ApiProperty({
    enum: ['in_progress', 'completed'],
    description: '`completed` when all matching tasks are deleted and the last of their contents is gone.',
  })
  status!: 'in_progress' | 'completed';

  @ApiProperty({ type: 'integer', description: 'Number of tasks deleted so far.' })
  deleted!: number;

  @ApiProperty({ type: 'integer', description: 'When it was requested, in Unix seconds.' })
  created!: number;
}

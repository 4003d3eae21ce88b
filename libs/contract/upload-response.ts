import { ApiProperty } from '@nestjs/swagger';

/** 200 response of POST /v1/uploads/images. */
export class UploadResponse {
  @ApiProperty({
    example: 'upload_01JD0Z8Q4M0W3E5V6T7R8Y9X0A',
    description: 'Use it as `file_id` in `images[]` and `mask` of edits of the same account.',
  })
  id!: string;

  @ApiProperty({
    format: 'uri',
    description:
      'Use it in `image_urls`, `images[].image_url`, and `mask.image_url` of requests of the same account. ' +
      'The URL itself is not served.',
  })
  url!: string;

  @ApiProperty({ example: 'photo.jpg', description: 'File name from the form.' })
  filename!: string;

  @ApiProperty({
    enum: ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif'],
    description: "Type detected from the file's content.",
  })
  content_type!: string;

  @ApiProperty({ type: 'integer' })
  bytes!: number;

  @ApiProperty({ type: 'integer', description: 'Unix seconds.' })
  created_at!: number;
}

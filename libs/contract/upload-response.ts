import { ApiProperty } from '@nestjs/swagger';

/** 200 response of POST /v1/uploads/images. */
export class UploadResponse {
  @ApiProperty({
    format: 'uri',
    description:
      'Names the image in `image_urls`, `images[].image_url` and `mask.image_url` of requests of the same account. ' +
      'It is not served.',
  })
  url!: string;

  @ApiProperty({ example: 'photo.jpg', description: 'What the form called the file.' })
  filename!: string;

  @ApiProperty({ enum: ['image/png', 'image/jpeg', 'image/webp'], description: 'What the bytes are.' })
  content_type!: string;

  @ApiProperty({ type: 'integer' })
  bytes!: number;

  @ApiProperty({ type: 'integer', description: 'Unix seconds.' })
  created_at!: number;
}

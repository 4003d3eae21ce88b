import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

class TokenDetails {
  @ApiProperty({ type: 'integer' })
  text_tokens!: number;

  @ApiProperty({ type: 'integer' })
  image_tokens!: number;
}

/** ImageUsage, as the OpenAPI document shows it. */
export class ImageUsageView {
  @ApiProperty({ type: 'integer' })
  input_tokens!: number;

  @ApiProperty({ type: 'integer' })
  output_tokens!: number;

  @ApiProperty({ type: 'integer' })
  total_tokens!: number;

  @ApiPropertyOptional({ type: TokenDetails })
  input_tokens_details?: TokenDetails;

  @ApiPropertyOptional({ type: TokenDetails })
  output_tokens_details?: TokenDetails;
}

import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

class TokensDetailsView {
  @ApiPropertyOptional({ type: 'integer' })
  text_tokens?: number;

  @ApiPropertyOptional({ type: 'integer' })
  image_tokens?: number;
}

class InputTokensDetailsView extends TokensDetailsView {
  @ApiPropertyOptional({ type: 'integer', description: 'Tokens from the provider’s cache, included in the others.' })
  cached_tokens?: number;

  @ApiPropertyOptional({ type: TokensDetailsView })
  cached_tokens_details?: TokensDetailsView;
}

class SvgUsageView {
  @ApiProperty({ type: 'integer' })
  input_tokens!: number;

  @ApiProperty({ type: 'integer' })
  output_tokens!: number;

  @ApiProperty({ type: 'integer' })
  total_tokens!: number;
}

/** ImageUsage, as the OpenAPI document shows it. */
export class ImageUsageView {
  @ApiProperty({ type: 'integer' })
  input_tokens!: number;

  @ApiProperty({ type: 'integer' })
  output_tokens!: number;

  @ApiProperty({ type: 'integer' })
  total_tokens!: number;

  @ApiPropertyOptional({ type: InputTokensDetailsView, description: 'The kinds that the provider reported.' })
  input_tokens_details?: InputTokensDetailsView;

  @ApiPropertyOptional({ type: TokensDetailsView, description: 'The kinds that the provider reported.' })
  output_tokens_details?: TokensDetailsView;

  @ApiPropertyOptional({ type: SvgUsageView, description: 'Tokens of the author of an SVG, not in the totals.' })
  svg_usage?: SvgUsageView;
}

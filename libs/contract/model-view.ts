import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { MAX_REFERENCE_IMAGES } from './image-reference.js';
import { IMAGE_SIZES, RESOLUTIONS } from './pixel-table.js';

/** What a model can be asked for. */
export class ModelCapabilities {
  @ApiPropertyOptional({ type: [String], example: IMAGE_SIZES.slice(0, 3), description: 'Of image models.' })
  sizes?: string[];

  @ApiPropertyOptional({ type: [String], example: RESOLUTIONS, description: 'Tiers of image models.' })
  resolutions?: string[];

  @ApiPropertyOptional({ description: 'Whether it takes reference images.' })
  edits?: boolean;

  @ApiPropertyOptional({ description: 'Whether edits may have a mask.' })
  masks?: boolean;

  @ApiPropertyOptional({ description: 'Whether it answers as a stream.' })
  streaming?: boolean;
}

/** How much a model may be asked for. */
export class ModelLimits {
  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'Of this kind of model, per API key; null = any number.',
  })
  requests_per_minute!: number | null;

  @ApiPropertyOptional({
    type: 'integer',
    maximum: MAX_REFERENCE_IMAGES,
    description: 'Reference images of a request.',
  })
  images?: number;

  @ApiPropertyOptional({ type: 'integer', description: 'Characters of a prompt.' })
  prompt_characters?: number;
}

/** What a model costs now. */
export class ModelPrice {
  @ApiProperty({ example: 'USD' })
  currency!: string;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'object', additionalProperties: { type: 'number' } },
    description: 'By tier and quality; `auto` is what a quality costs that is not listed.',
    example: { '1k': { auto: 0.02 } },
  })
  per_image?: Record<string, Record<string, number>>;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'number' },
    example: { input: 1.25, cached_input: 0.125, output: 10 },
  })
  per_million_tokens?: Record<string, number>;
}

/** One model in OpenAI's shape, and what is known of it. */
export class ModelView {
  @ApiProperty({ example: 'gpt-image-2' })
  id!: string;

  @ApiProperty({ enum: ['model'] })
  object!: 'model';

  @ApiProperty({ type: 'integer', description: 'Unix seconds.' })
  created!: number;

  @ApiProperty()
  owned_by!: string;

  @ApiProperty({ type: [String], example: ['image-generation'], description: '`image-generation` or `openai` (chat).' })
  supported_endpoint_types!: string[];

  @ApiProperty({ type: ModelCapabilities })
  capabilities!: ModelCapabilities;

  @ApiProperty({ type: ModelLimits })
  limits!: ModelLimits;

  @ApiPropertyOptional({ type: ModelPrice, description: 'Absent when nothing is charged.' })
  price?: ModelPrice;
}

/** GET /v1/models. */
export class ModelListResponse {
  @ApiProperty({ enum: ['list'] })
  object!: 'list';

  @ApiProperty({ type: [ModelView] })
  data!: ModelView[];
}

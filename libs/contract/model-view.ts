import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { BASE_VALUES, COMPLEXITIES } from './accepted-values.js';
import type { ExtraField } from './extra-fields.js';
import { MAX_REFERENCE_IMAGES } from './image-reference.js';
import { IMAGE_SIZES, PIXEL_LIMITS, RESOLUTIONS } from './pixel-table.js';
import type { TokenClass } from './token-classes.js';

/** Pixel sizes that a model accepts. */
export class PixelSizes {
  @ApiProperty({ description: 'Whether this API key may use pixel sizes in generations; edits always accept them.' })
  generations!: boolean;

  @ApiProperty({
    type: 'integer',
    example: PIXEL_LIMITS.min_edge,
    description: 'Minimum length of the shortest edge, in pixels.',
  })
  min_edge!: number;

  @ApiProperty({
    type: 'integer',
    example: PIXEL_LIMITS.max_edge,
    description: 'Maximum length of the longest edge, in pixels.',
  })
  max_edge!: number;

  @ApiProperty({ example: PIXEL_LIMITS.max_ratio, description: 'Maximum ratio of the longest to the shortest edge.' })
  max_ratio!: number;

  @ApiProperty({ type: 'integer', example: PIXEL_LIMITS.max_pixels, description: 'Maximum width times height.' })
  max_pixels!: number;
}

/** What a model can generate. */
export class ModelCapabilities {
  @ApiPropertyOptional({
    type: [String],
    example: IMAGE_SIZES.slice(0, 3),
    description: 'Aspect ratios and `auto`; image models only.',
  })
  sizes?: string[];

  @ApiPropertyOptional({
    type: PixelSizes,
    description: 'Absent if the model does not accept sizes such as `1024x1024`.',
  })
  pixel_sizes?: PixelSizes;

  @ApiPropertyOptional({ type: [String], example: RESOLUTIONS, description: 'Resolution tiers; image models only.' })
  resolutions?: string[];

  @ApiPropertyOptional({
    type: [String],
    example: BASE_VALUES.qualities,
    description: 'Accepted values of `quality` in generations.',
  })
  qualities?: string[];

  @ApiPropertyOptional({
    type: [String],
    example: BASE_VALUES.editQualities,
    description: 'Accepted values of `quality` in edits; present if the model accepts reference images.',
  })
  edit_qualities?: string[];

  @ApiPropertyOptional({
    type: [String],
    example: BASE_VALUES.outputFormats,
    description: 'Accepted values of `output_format`.',
  })
  output_formats?: string[];

  @ApiPropertyOptional({
    type: [String],
    example: COMPLEXITIES,
    description: 'Accepted values of `complexity`; absent if the model does not support it.',
  })
  complexities?: string[];

  @ApiPropertyOptional({
    type: [String],
    example: BASE_VALUES.inputFidelities,
    description: 'Values of `input_fidelity` that have an effect; absent if none has.',
  })
  input_fidelities?: string[];

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    example: { seed: { type: 'integer', min: 0, max: 4294967295 } },
    description: 'Further fields of requests for this model, with their types and bounds.',
  })
  extra?: Record<string, ExtraField>;

  @ApiPropertyOptional({ description: 'Whether the model accepts reference images.' })
  edits?: boolean;

  @ApiPropertyOptional({ description: 'Whether edits accept a mask.' })
  masks?: boolean;

  @ApiPropertyOptional({ description: 'Whether edits accept markup, an image drawn over the first one.' })
  markup?: boolean;

  @ApiPropertyOptional({ description: 'Whether the model supports streaming.' })
  streaming?: boolean;
}

/** Limits of requests to a model. */
export class ModelLimits {
  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'Rate limit for this kind of model, per API key; null = unlimited.',
  })
  requests_per_minute!: number | null;

  @ApiPropertyOptional({
    type: 'integer',
    maximum: MAX_REFERENCE_IMAGES,
    description: 'Maximum reference images per request.',
  })
  images?: number;

  @ApiPropertyOptional({
    type: 'integer',
    example: BASE_VALUES.maxN,
    description: 'Maximum `n`, the number of generated images per request.',
  })
  n?: number;

  @ApiPropertyOptional({ type: 'integer', description: 'Maximum length of a prompt, in characters.' })
  prompt_characters?: number;
}

/** Current prices of a model. */
export class ModelPrice {
  @ApiProperty({ example: 'USD' })
  currency!: string;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'object', additionalProperties: { type: 'number' } },
    description: 'Price by resolution tier and quality; `auto` applies to qualities that are not listed.',
    example: { '1k': { auto: 0.02 } },
  })
  per_image?: Record<string, Record<string, number>>;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'number' },
    description:
      'Price of the tokens used, by class: `input` and `cached_input` (text), `image_input`, `cached_image_input`, `output` (images, or text of chats), `text_output`, `svg_input` and `svg_output`. With `per_image`, that is the most that an image costs.',
    example: { input: 1.25, cached_input: 0.125, output: 10 },
  })
  per_million_tokens?: Partial<Record<TokenClass, number>>;
}

/** A model in OpenAI's format, with additional properties. */
export class ModelView {
  @ApiProperty({ example: 'gpt-image-2' })
  id!: string;

  @ApiProperty({ enum: ['model'] })
  object!: 'model';

  @ApiProperty({ type: 'integer', description: 'Unix seconds.' })
  created!: number;

  @ApiProperty()
  owned_by!: string;

  @ApiProperty({
    type: String,
    format: 'date',
    nullable: true,
    description: 'First day, in UTC, on which requests for the model are refused; null if no end is known.',
  })
  shutdown_date!: string | null;

  @ApiProperty({ type: [String], example: ['image-generation'], description: '`image-generation` or `openai` (chat).' })
  supported_endpoint_types!: string[];

  @ApiProperty({ type: ModelCapabilities })
  capabilities!: ModelCapabilities;

  @ApiProperty({ type: ModelLimits })
  limits!: ModelLimits;

  @ApiPropertyOptional({ type: ModelPrice, description: 'Absent if the model is free.' })
  price?: ModelPrice;
}

/** Response of GET /v1/models. */
export class ModelListResponse {
  @ApiProperty({ enum: ['list'] })
  object!: 'list';

  @ApiProperty({ type: [ModelView] })
  data!: ModelView[];
}

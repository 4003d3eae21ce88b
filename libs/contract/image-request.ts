import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsDefined, IsIn, IsInt, IsNotEmpty, IsOptional, IsString, Max, Min } from 'class-validator';
import { Rule } from './field-rule.js';
import {
  editImagesProblem,
  imageObjectProblem,
  imageUrlsProblem,
  MAX_REFERENCE_IMAGES,
  MAX_REFERENCE_LENGTH,
} from './image-reference.js';
import type { Text } from './long-text.js';
import { RESPONSE_FORMATS, type OutputFormat, type ResponseFormat } from './accepted-values.js';
import { IMAGE_SIZES, RESOLUTIONS } from './pixel-table.js';
import { MAX_PROMPT_LENGTH, textProblem } from './text-rules.js';

/** Model of edits that don't name one. */
export const DEFAULT_IMAGE_MODEL = 'gpt-image-2';
const BACKGROUNDS = ['transparent', 'opaque', 'auto'] as const;
const MAX_USER_LENGTH = 2_048;
/** The same limit as OpenAI's. */
const MAX_SAFETY_IDENTIFIER_LENGTH = 64;
const MAX_CALLBACK_LENGTH = 2_048;

function OneOf(values: readonly string[]): PropertyDecorator {
  return IsIn([...values], { message: `$property must be one of ${values.join(', ')}` });
}

/** Combines several decorators. */
function all(...decorators: PropertyDecorator[]): PropertyDecorator {
  return (target, property) => {
    for (const decorate of decorators) decorate(target, property);
  };
}

function Integer(min: number, max: number): PropertyDecorator {
  return all(
    IsInt(),
    Min(min, { message: `$property must be at least ${min}` }),
    Max(max, { message: `$property must be at most ${max}` }),
  );
}

const Prompt = Rule('prompt', (value, property) => textProblem(value, property, MAX_PROMPT_LENGTH));
const User = Rule('user', (value, property) => textProblem(value, property, MAX_USER_LENGTH));
const SafetyIdentifier = Rule('safetyIdentifier', (value, property) =>
  textProblem(value, property, MAX_SAFETY_IDENTIFIER_LENGTH),
);
const ImageUrls = Rule('imageUrls', imageUrlsProblem);
const EditImages = Rule('editImages', editImagesProblem);
const MaskObject = Rule('maskObject', imageObjectProblem);
const CallbackUrl = Rule('callbackUrl', (value, property) => {
  if (typeof value !== 'string') return undefined;
  if (value.length > MAX_CALLBACK_LENGTH) {
    return {
      code: 'string_above_max_length',
      message: `${property} must be at most ${MAX_CALLBACK_LENGTH} characters long`,
    };
  }
  if (/^https:\/\//i.test(value) && URL.canParse(value)) return undefined;
  return { code: 'invalid_value', message: `${property} must be a public https URL` };
});

/** A ratio, or pixels. */
function Size(usual: string): PropertyDecorator {
  return all(
    ApiPropertyOptional({
      pattern: `^(${IMAGE_SIZES.join('|')}|[1-9][0-9]*x[1-9][0-9]*)$`,
      default: usual,
      example: '1024x1024',
      description:
        'An aspect ratio, scaled according to `resolution`; `auto` to let the model choose; or a size in pixels with edges of 64 to 3840, ' +
        'an aspect ratio of at most 3:1, and at most 8,294,400 pixels. A size the model cannot generate is produced by resizing its next larger size. ' +
        'Models may accept fewer sizes: see `capabilities` of GET /v1/models/{id}.',
    }),
    IsOptional(),
    IsString(),
  );
}

/** A quality that the model accepts. */
function Quality(list: string): PropertyDecorator {
  return all(
    ApiPropertyOptional({
      default: 'auto',
      example: 'high',
      description: `One of \`capabilities.${list}\` of GET /v1/models/{id}.`,
    }),
    IsOptional(),
    IsString(),
  );
}

/**
 * Fields that generations and edits share, except for each class's first ones. The qualities, formats, sizes, and image
 * counts of a model are checked against its catalog entry (`accepted-values`).
 */
export class ImageOptions {
  @ApiPropertyOptional({
    enum: RESOLUTIONS,
    default: '2k',
    description: 'Resolution tier, case-insensitive. Ignored if `size` is in pixels.',
  })
  @IsOptional()
  @IsString()
  @OneOf(RESOLUTIONS)
  resolution?: string;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    default: 1,
    description: 'Number of images, at most `limits.n` of GET /v1/models/{id} (1 for gpt-image-2).',
  })
  @IsOptional()
  @IsInt()
  @Min(1, { message: 'n must be at least 1' })
  n?: number;

  @ApiPropertyOptional({
    enum: RESPONSE_FORMATS,
    description:
      'Whether to return images as links or as base64. Default: both, unless the API key, the account, or the deployment sets another default.',
  })
  @IsOptional()
  @IsString()
  @OneOf(RESPONSE_FORMATS)
  response_format?: ResponseFormat;

  @ApiPropertyOptional({ enum: BACKGROUNDS, description: '`transparent` requires `output_format` png or webp.' })
  @IsOptional()
  @IsString()
  @OneOf(BACKGROUNDS)
  background?: (typeof BACKGROUNDS)[number];

  @ApiPropertyOptional({ enum: ['low', 'auto'] })
  @IsOptional()
  @IsString()
  @OneOf(['low', 'auto'])
  moderation?: string;

  @ApiPropertyOptional({
    type: String,
    default: 'png',
    example: 'png',
    description: 'One of `capabilities.output_formats` of GET /v1/models/{id}.',
  })
  @IsOptional()
  @IsString()
  output_format?: OutputFormat;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: 100,
    default: 100,
    description: 'Compression level; for jpeg and webp only.',
  })
  @IsOptional()
  @Integer(0, 100)
  output_compression?: number;

  @ApiPropertyOptional({ maxLength: MAX_USER_LENGTH, description: 'Your identifier for the end user.' })
  @IsOptional()
  @IsString()
  @User
  user?: string;

  @ApiPropertyOptional({
    maxLength: MAX_SAFETY_IDENTIFIER_LENGTH,
    description: 'A stable identifier for the end user, such as a hash, that helps providers detect abuse.',
  })
  @IsOptional()
  @IsString()
  @SafetyIdentifier
  safety_identifier?: string;

  @ApiPropertyOptional({
    default: false,
    description: 'Respond with server-sent events. Images are sent as base64; not available for asynchronous requests.',
  })
  @IsOptional()
  @IsBoolean()
  stream?: boolean;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: 3,
    default: 0,
    description: 'Maximum number of partial images to stream. Has no effect without `stream`.',
  })
  @IsOptional()
  @Integer(0, 3)
  partial_images?: number;

  @ApiPropertyOptional({
    default: false,
    description:
      '`true`: reject the request (400) if an option would be adapted or ignored, and fail the task if its image had to be adapted, ' +
      'instead of reporting it in `warnings`.',
  })
  @IsOptional()
  @IsBoolean()
  strict?: boolean;
}

/** Body of POST /v1/images/generations. */
export class ImageGenerationRequest extends ImageOptions {
  @ApiProperty({ example: DEFAULT_IMAGE_MODEL, description: 'ID of an image model from GET /v1/models.' })
  @IsDefined()
  @IsString()
  model!: string;

  @ApiProperty({ minLength: 1, maxLength: MAX_PROMPT_LENGTH, description: 'Length is counted in Unicode code points.' })
  @IsDefined()
  @IsString()
  @IsNotEmpty()
  @Prompt
  prompt!: string;

  @Size('1:1')
  size?: string;

  @ApiPropertyOptional({
    type: 'array',
    items: { type: 'string', maxLength: MAX_REFERENCE_LENGTH },
    maxItems: MAX_REFERENCE_IMAGES,
    description: 'Reference images: http(s) URLs or base64 data URIs of PNG, JPEG, WebP, or still AVIF or GIF images.',
  })
  @IsOptional()
  @ImageUrls
  image_urls?: Text[];

  @Quality('qualities')
  quality?: string;
}

/** An image of a JSON edit. */
export class ImageReference {
  @ApiProperty({ type: String, maxLength: MAX_REFERENCE_LENGTH, description: 'http(s) URL or base64 data URI.' })
  image_url!: Text;
}

/** Fields that JSON and multipart edits share. */
class EditOptions extends ImageOptions {
  @ApiPropertyOptional({ default: DEFAULT_IMAGE_MODEL, description: 'ID of an image model from GET /v1/models.' })
  @IsOptional()
  @IsString()
  model?: string;

  @ApiProperty({ minLength: 1, maxLength: MAX_PROMPT_LENGTH, description: 'Length is counted in Unicode code points.' })
  @IsDefined()
  @IsString()
  @IsNotEmpty()
  @Prompt
  prompt!: string;

  @Size('auto')
  size?: string;

  @Quality('edit_qualities')
  quality?: string;

  @ApiPropertyOptional({ enum: ['high', 'low'] })
  @IsOptional()
  @IsString()
  @OneOf(['high', 'low'])
  input_fidelity?: string;
}

/** JSON body of POST /v1/images/edits. */
export class ImageEditRequest extends EditOptions {
  @ApiProperty({ type: [ImageReference], minItems: 1, maxItems: MAX_REFERENCE_IMAGES })
  @IsDefined()
  @EditImages
  images!: ImageReference[];

  @ApiPropertyOptional({
    type: ImageReference,
    description:
      'PNG with the dimensions of the first image. Fully transparent pixels (alpha 0) mark the area to edit.',
  })
  @IsOptional()
  @MaskObject
  mask?: ImageReference;
}

/** Text parts of a multipart POST /v1/images/edits; files are checked while they arrive. */
export class ImageEditForm extends EditOptions {}

/** Documents that `stream` can't be true, because the response is a task. */
function NotStreamed(requestClass: { readonly prototype: ImageOptions }): void {
  const description = 'Not available: asynchronous requests return a task.';
  ApiPropertyOptional({ type: Boolean, enum: [false], default: false, description })(requestClass.prototype, 'stream');
}

/** Additional field of the asynchronous requests. */
const callbackUrl = {
  format: 'uri',
  maxLength: MAX_CALLBACK_LENGTH,
  description: 'Public HTTPS URL that receives a webhook when the task ends.',
};

/** JSON body of `POST /v1/images/generations/async`. */
@NotStreamed
export class AsyncImageGenerationRequest extends ImageGenerationRequest {
  @ApiPropertyOptional(callbackUrl)
  @IsOptional()
  @IsString()
  @CallbackUrl
  callback_url?: string;
}

/** JSON body of `POST /v1/images/edits/async`. */
@NotStreamed
export class AsyncImageEditRequest extends ImageEditRequest {
  @ApiPropertyOptional(callbackUrl)
  @IsOptional()
  @IsString()
  @CallbackUrl
  callback_url?: string;
}

/** Text parts of a multipart `POST /v1/images/edits/async`; files are read separately. */
@NotStreamed
export class AsyncImageEditForm extends ImageEditForm {
  @ApiPropertyOptional(callbackUrl)
  @IsOptional()
  @IsString()
  @CallbackUrl
  callback_url?: string;
}

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
        'An aspect ratio, in pixels as `resolution` says; `auto` leaves it to the model; or exactly these pixels: edges 64 to 3840, ' +
        'ratio <= 3:1, at most 8,294,400 pixels. What the model cannot make itself is fitted from its next larger size. ' +
        'A model may accept fewer: `capabilities` of GET /v1/models/{id}.',
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
      description: `One that the model accepts: \`capabilities.${list}\` of GET /v1/models/{id}.`,
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
    description: 'Resolution tier; case does not matter. Ignored when `size` is in pixels.',
  })
  @IsOptional()
  @IsString()
  @OneOf(RESOLUTIONS)
  resolution?: string;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    default: 1,
    description: 'Number of images, at most `limits.n` of GET /v1/models/{id}; 1 for gpt-image-2.',
  })
  @IsOptional()
  @IsInt()
  @Min(1, { message: 'n must be at least 1' })
  n?: number;

  @ApiPropertyOptional({
    enum: RESPONSE_FORMATS,
    description:
      'Whether the image comes as a link or in the body. Absent: both, unless the deployment, the account or the API key has another default.',
  })
  @IsOptional()
  @IsString()
  @OneOf(RESPONSE_FORMATS)
  response_format?: ResponseFormat;

  @ApiPropertyOptional({ enum: BACKGROUNDS, description: '`transparent` needs output_format png or webp.' })
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
    description: 'One that the model accepts: `capabilities.output_formats` of GET /v1/models/{id}.',
  })
  @IsOptional()
  @IsString()
  output_format?: OutputFormat;

  @ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: 100, default: 100, description: 'For jpeg and webp.' })
  @IsOptional()
  @Integer(0, 100)
  output_compression?: number;

  @ApiPropertyOptional({ maxLength: MAX_USER_LENGTH, description: "The caller's own name for its end user." })
  @IsOptional()
  @IsString()
  @User
  user?: string;

  @ApiPropertyOptional({
    maxLength: MAX_SAFETY_IDENTIFIER_LENGTH,
    description: 'A stable name for the end user, such as a hash, for providers that watch for abuse.',
  })
  @IsOptional()
  @IsString()
  @SafetyIdentifier
  safety_identifier?: string;

  @ApiPropertyOptional({
    default: false,
    description: 'Answer with server-sent events. Images come as base64; not for asynchronous calls.',
  })
  @IsOptional()
  @IsBoolean()
  stream?: boolean;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: 3,
    default: 0,
    description: 'Most partial images to stream. Has no effect without `stream`.',
  })
  @IsOptional()
  @Integer(0, 3)
  partial_images?: number;

  @ApiPropertyOptional({
    default: false,
    description:
      '`true`: refuse (400) what would have to be adapted or ignored, and fail a task whose image had to be, ' +
      'instead of listing it in `warnings`.',
  })
  @IsOptional()
  @IsBoolean()
  strict?: boolean;
}

/** Body of POST /v1/images/generations. */
export class ImageGenerationRequest extends ImageOptions {
  @ApiProperty({ example: DEFAULT_IMAGE_MODEL, description: 'An image model of GET /v1/models.' })
  @IsDefined()
  @IsString()
  model!: string;

  @ApiProperty({ minLength: 1, maxLength: MAX_PROMPT_LENGTH, description: 'Counted in Unicode code points.' })
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
    description: 'Reference images: http(s) URLs or base64 data URIs of PNG, JPEG or WebP images.',
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
  @ApiPropertyOptional({ default: DEFAULT_IMAGE_MODEL, description: 'An image model of GET /v1/models.' })
  @IsOptional()
  @IsString()
  model?: string;

  @ApiProperty({ minLength: 1, maxLength: MAX_PROMPT_LENGTH, description: 'Counted in Unicode code points.' })
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

  @ApiPropertyOptional({ type: ImageReference, description: 'PNG as large as the first image; alpha 0 = edit here.' })
  @IsOptional()
  @MaskObject
  mask?: ImageReference;
}

/** Text parts of a multipart POST /v1/images/edits; files are checked while they arrive. */
export class ImageEditForm extends EditOptions {}

/** Documents that `stream` can't be true, because the response is a task. */
function NotStreamed(requestClass: { readonly prototype: ImageOptions }): void {
  const description = 'This call is answered with a task: nothing is streamed.';
  ApiPropertyOptional({ type: Boolean, enum: [false], default: false, description })(requestClass.prototype, 'stream');
}

/** Additional field of the asynchronous requests. */
const callbackUrl = {
  format: 'uri',
  maxLength: MAX_CALLBACK_LENGTH,
  description: 'Public HTTPS URL that is notified when the task ends.',
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

import { ApiPropertyOptional } from '@nestjs/swagger';
import { ChoiceField, Field, FlagField, IntegerField, ListField, TextField } from './field.js';
import type { FieldProblem } from './field-rule.js';
import {
  editImagesProblem,
  imageObjectProblem,
  imageUrlsProblem,
  MAX_REFERENCE_IMAGES,
  MAX_REFERENCE_LENGTH,
  UPLOAD_ID,
} from './image-reference.js';
import { MAX_TAGS, tagsProblem } from './labels.js';
import type { Text } from './long-text.js';
import { SvgAuthorField, svgAuthorProblem } from './svg-author.js';
import {
  COMPLEXITIES,
  INPUT_FIDELITIES,
  RESPONSE_FORMATS,
  type OutputFormat,
  type ResponseFormat,
} from './accepted-values.js';
import { IMAGE_SIZES, RESOLUTIONS } from './pixel-table.js';
import { isStorable, MAX_PROMPT_LENGTH } from './text-rules.js';
import { MAX_KEPT_SECONDS, MIN_KEPT_SECONDS } from './kept-seconds.js';

/** Model of edits that don't name one. */
export const DEFAULT_IMAGE_MODEL = 'gpt-image-2';
/** Values of `background`. */
export const BACKGROUNDS = ['transparent', 'opaque', 'auto'] as const;
const MAX_USER_LENGTH = 2_048;
/** The same limit as OpenAI's. */
const MAX_SAFETY_IDENTIFIER_LENGTH = 64;
const MAX_CALLBACK_LENGTH = 2_048;
/** Of a GIF; the same limits as OpenAI's. */
const MIN_FRAMES = 2;
const MAX_FRAMES = 16;
const MAX_FRAME_MS = 655_350;

function callbackProblem(value: unknown, property: string): FieldProblem | undefined {
  if (typeof value !== 'string') return undefined;
  if (value.length > MAX_CALLBACK_LENGTH) {
    return {
      code: 'string_above_max_length',
      message: `${property} must be at most ${MAX_CALLBACK_LENGTH} characters long`,
    };
  }
  if (/^https:\/\//i.test(value) && URL.canParse(value) && isStorable(value)) return undefined;
  return { code: 'invalid_value', message: `${property} must be a public https URL` };
}

const PromptField = () =>
  TextField({
    notEmpty: true,
    maxLength: MAX_PROMPT_LENGTH,
    description: 'Length is counted in Unicode code points.',
  });

/** A ratio, or pixels. */
const SizeField = (usual: string) =>
  TextField({
    optional: true,
    schema: { pattern: `^(${IMAGE_SIZES.join('|')}|[1-9][0-9]*x[1-9][0-9]*)$` },
    default: usual,
    example: '1024x1024',
    description:
      'An aspect ratio, scaled according to `resolution`; `auto` to let the model choose; or a size in pixels with edges of 64 to 3840, ' +
      'an aspect ratio of at most 3:1, and at most 8,294,400 pixels. A size the model cannot generate is produced by resizing its next larger size. ' +
      'Models may accept fewer sizes: see `capabilities` of GET /v1/models/{id}.',
  });

/** A quality that the model accepts. */
const QualityField = (list: string) =>
  TextField({
    optional: true,
    default: 'auto',
    example: 'high',
    description: `One of \`capabilities.${list}\` of GET /v1/models/{id}.`,
  });

/** Where the webhook of an asynchronous request goes. */
const CallbackField = () =>
  TextField({
    optional: true,
    schema: { format: 'uri', maxLength: MAX_CALLBACK_LENGTH },
    description: 'Public HTTPS URL that receives a webhook when the task ends.',
    rule: callbackProblem,
  });

/**
 * Fields that generations and edits share, except for each class's first ones. The qualities, formats, sizes, and image
 * counts of a model are checked against its catalog entry (`accepted-values`).
 */
export class ImageOptions {
  @ChoiceField(RESOLUTIONS, {
    optional: true,
    typed: true,
    default: '2k',
    description: 'Resolution tier, case-insensitive. Ignored if `size` is in pixels.',
  })
  resolution?: string;

  @IntegerField({
    optional: true,
    min: 1,
    default: 1,
    description: 'Number of images, at most `limits.n` of GET /v1/models/{id} (1 for gpt-image-2).',
  })
  n?: number;

  @ChoiceField(RESPONSE_FORMATS, {
    optional: true,
    typed: true,
    description:
      'Whether to return images as links or as base64. Default: both, unless the API key, the account, or the deployment sets another default.',
  })
  response_format?: ResponseFormat;

  @ChoiceField(BACKGROUNDS, {
    optional: true,
    typed: true,
    description: '`transparent` requires `output_format` png, webp or gif.',
  })
  background?: (typeof BACKGROUNDS)[number];

  @ChoiceField(['low', 'auto'], { optional: true, typed: true })
  moderation?: string;

  @TextField({
    optional: true,
    default: 'png',
    example: 'png',
    description: 'One of `capabilities.output_formats` of GET /v1/models/{id}.',
  })
  output_format?: OutputFormat;

  @IntegerField({
    optional: true,
    min: 0,
    max: 100,
    default: 100,
    description: 'Compression level; for jpeg and webp only.',
  })
  output_compression?: number;

  @ChoiceField(COMPLEXITIES, {
    optional: true,
    typed: true,
    description:
      'How much the model plans before it draws, apart from `quality`. One of `capabilities.complexities` of ' +
      'GET /v1/models/{id}; refused by models without it.',
  })
  complexity?: string;

  @IntegerField({
    optional: true,
    min: MIN_FRAMES,
    max: MAX_FRAMES,
    description: 'Frames of an animated GIF; only with `output_format` gif, and without a mask.',
  })
  frame_count?: number;

  @IntegerField({
    optional: true,
    min: 1,
    max: MAX_FRAME_MS,
    description: 'How long each frame of a GIF is shown, in milliseconds; only with `output_format` gif.',
  })
  frame_duration_ms?: number;

  @Field(SvgAuthorField, {
    optional: true,
    description: 'Who writes the document, and with how much thought; only with `output_format` svg.',
    rule: svgAuthorProblem,
  })
  svg?: SvgAuthorField;

  @TextField({ optional: true, maxLength: MAX_USER_LENGTH, description: 'Your identifier for the end user.' })
  user?: string;

  @TextField({
    optional: true,
    maxLength: MAX_SAFETY_IDENTIFIER_LENGTH,
    description: 'A stable identifier for the end user, such as a hash, that helps providers detect abuse.',
  })
  safety_identifier?: string;

  @ListField(String, {
    optional: true,
    schema: { maxItems: MAX_TAGS },
    rule: tagsProblem,
    description:
      'For your own accounting: 1 to 64 printable characters each, without commas. Never sent to providers. ' +
      'In a form, send one field per tag, or one with commas.',
  })
  tags?: string[];

  @FlagField({
    optional: true,
    default: false,
    description: 'Respond with server-sent events. Images are sent as base64; not available for asynchronous requests.',
  })
  stream?: boolean;

  @IntegerField({
    optional: true,
    min: 0,
    max: 3,
    default: 0,
    description: 'Maximum number of partial images to stream. Has no effect without `stream`.',
  })
  partial_images?: number;

  @FlagField({
    optional: true,
    default: false,
    description:
      '`true`: reject the request (400) if an option would be adapted or ignored, and fail the task if its image had to be adapted, ' +
      'instead of reporting it in `warnings`.',
  })
  strict?: boolean;

  @FlagField({
    optional: true,
    default: true,
    description:
      '`false`: delete the task, with its prompt and images, shortly after its end: after two minutes (`ATTACH_WINDOW_MS`), in which a retry ' +
      'of the same request still gets its image, or after ten minutes if the response is a task.',
  })
  store?: boolean;

  @IntegerField({
    optional: true,
    min: MIN_KEPT_SECONDS,
    max: MAX_KEPT_SECONDS,
    description:
      'Delete the task, with its prompt and images, this many seconds after its acceptance, but as long after its end as with ' +
      '`store: false` if that is later. Default: that of the API key or the account. Images and tasks are never kept longer ' +
      'than the deployment keeps them.',
  })
  expires_after?: number;
}

/** Body of POST /v1/images/generations. */
export class ImageGenerationRequest extends ImageOptions {
  @TextField({ example: DEFAULT_IMAGE_MODEL, description: 'ID of an image model from GET /v1/models.' })
  model!: string;

  @PromptField()
  prompt!: string;

  @SizeField('1:1')
  size?: string;

  @Field('array', {
    optional: true,
    schema: { items: { type: 'string', maxLength: MAX_REFERENCE_LENGTH }, maxItems: MAX_REFERENCE_IMAGES },
    description: 'Reference images: http(s) URLs or base64 data URIs of PNG, JPEG, WebP, or still AVIF or GIF images.',
    rule: imageUrlsProblem,
  })
  image_urls?: Text[];

  @QualityField('qualities')
  quality?: string;
}

/** An image of a JSON edit. */
export class ImageReference {
  @ApiPropertyOptional({
    type: String,
    maxLength: MAX_REFERENCE_LENGTH,
    description: 'http(s) URL or base64 data URI. Either this or `file_id`.',
  })
  image_url?: Text;

  @ApiPropertyOptional({
    type: String,
    pattern: UPLOAD_ID.source,
    description: '`id` of an image uploaded with POST /v1/uploads/images by the same account.',
  })
  file_id?: string;
}

/** Fields that JSON and multipart edits share. */
class EditOptions extends ImageOptions {
  @TextField({
    optional: true,
    default: DEFAULT_IMAGE_MODEL,
    description: 'ID of an image model from GET /v1/models.',
  })
  model?: string;

  @PromptField()
  prompt!: string;

  @SizeField('auto')
  size?: string;

  @QualityField('edit_qualities')
  quality?: string;

  @ChoiceField(INPUT_FIDELITIES, {
    optional: true,
    typed: true,
    description: 'One of `capabilities.input_fidelities` of GET /v1/models/{id}; no effect on models without it.',
  })
  input_fidelity?: string;
}

/** JSON body of POST /v1/images/edits. */
export class ImageEditRequest extends EditOptions {
  @Field([ImageReference], { schema: { minItems: 1, maxItems: MAX_REFERENCE_IMAGES }, rule: editImagesProblem })
  images!: ImageReference[];

  @Field(ImageReference, {
    optional: true,
    description:
      'PNG with the dimensions of the first image. Fully transparent pixels (alpha 0) mark the area to edit.',
    rule: imageObjectProblem,
  })
  mask?: ImageReference;

  @Field(ImageReference, {
    optional: true,
    description:
      'Transparent PNG with the dimensions of the first image, drawn over it to guide the edit. Not with `mask`; only for models with `capabilities.markup`.',
    rule: imageObjectProblem,
  })
  markup?: ImageReference;
}

/** Text parts of a multipart POST /v1/images/edits; files are checked while they arrive. */
export class ImageEditForm extends EditOptions {}

/** Documents that `stream` can't be true, because the response is a task. */
function NotStreamed(requestClass: { readonly prototype: ImageOptions }): void {
  const description = 'Not available: asynchronous requests return a task.';
  ApiPropertyOptional({ type: Boolean, enum: [false], default: false, description })(requestClass.prototype, 'stream');
}

/** JSON body of `POST /v1/images/generations/async`. */
@NotStreamed
export class AsyncImageGenerationRequest extends ImageGenerationRequest {
  @CallbackField()
  callback_url?: string;
}

/** JSON body of `POST /v1/images/edits/async`. */
@NotStreamed
export class AsyncImageEditRequest extends ImageEditRequest {
  @CallbackField()
  callback_url?: string;
}

/** Text parts of a multipart `POST /v1/images/edits/async`; files are read separately. */
@NotStreamed
export class AsyncImageEditForm extends ImageEditForm {
  @CallbackField()
  callback_url?: string;
}

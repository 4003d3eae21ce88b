import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { OUTPUT_FORMATS } from './accepted-values.js';
import { measuredSize, unixSeconds, warningsOf, type ResultImage, type ResultTask } from './image-result.js';
import { ImageUsageView } from './image-usage-view.js';
import type { ImageUsage } from './image-usage.js';

/** One result of a synchronous call: a link, the bytes, or both if the request does not choose. */
export class ImageData {
  @ApiPropertyOptional({ format: 'uri', description: 'Works without authorization until it expires.' })
  url?: string;

  @ApiPropertyOptional({ description: 'Base64, without a data: prefix.' })
  b64_json?: string;
}

/** 200 response of generations and edits. */
export class ImageResponse {
  @ApiProperty({ type: 'integer', description: 'Unix seconds.' })
  created!: number;

  @ApiProperty({ type: [ImageData], minItems: 1, description: 'One item per image.' })
  data!: ImageData[];

  @ApiProperty({ example: '2048x2048', description: 'Actual size of the image.' })
  size!: string;

  @ApiProperty({ enum: OUTPUT_FORMATS })
  output_format!: string;

  @ApiProperty({ enum: ['transparent', 'opaque'] })
  background!: string;

  @ApiProperty()
  quality!: string;

  @ApiPropertyOptional({ description: 'The `safety_identifier` of the request, or else its `user`, if it has one.' })
  safety_identifier?: string;

  @ApiPropertyOptional({ type: ImageUsageView, description: 'Present if the provider reported it.' })
  usage?: ImageUsage;

  @ApiPropertyOptional({
    type: [String],
    description:
      'Options that were adapted or ignored, and images that are missing, as text. Absent if there were none.',
  })
  warnings?: string[];
}

/**
 * The 200 body of a completed task. `first` is the first image, whose properties it shows; `data` has one item per
 * image.
 */
export function imageResponse(task: ResultTask, first: ResultImage, data: ImageData[]): ImageResponse {
  return {
    created: unixSeconds(task.createdAt),
    data,
    size: measuredSize(first),
    output_format: formatOf(first),
    background: task.options.background === 'transparent' ? 'transparent' : 'opaque',
    quality: task.options.quality ?? 'auto',
    ...endUserOf(task),
    ...(task.usage === null ? {} : { usage: task.usage }),
    ...warningsOf(task, first),
  };
}

function formatOf({ contentType }: Pick<ResultImage, 'contentType'>): string {
  return contentType.replace('image/', '').replace('+xml', '');
}

/** Fields that all events of a streamed image share. */
class ImageEvent {
  @ApiProperty({ description: 'Base64, without a data: prefix.' })
  b64_json!: string;

  @ApiProperty({ type: 'integer', description: 'Unix seconds.' })
  created_at!: number;

  @ApiProperty({ example: '2048x2048', description: 'Size of the final image, in partial events as well.' })
  size!: string;

  @ApiProperty()
  quality!: string;

  @ApiProperty({ enum: ['transparent', 'opaque'] })
  background!: string;

  @ApiProperty({ enum: OUTPUT_FORMATS })
  output_format!: string;
}

/** A partial image. */
export class ImagePartialEvent extends ImageEvent {
  @ApiProperty({ enum: ['image_generation.partial_image', 'image_edit.partial_image'] })
  type!: string;

  @ApiProperty({ type: 'integer', minimum: 0, maximum: 2 })
  partial_image_index!: number;
}

/** A finished image; these events come last, one per image. */
export class ImageCompletedEvent extends ImageEvent {
  @ApiProperty({ enum: ['image_generation.completed', 'image_edit.completed'] })
  type!: string;

  @ApiPropertyOptional({ description: 'The `safety_identifier` of the request, or else its `user`, if it has one.' })
  safety_identifier?: string;

  @ApiPropertyOptional({
    type: ImageUsageView,
    description: 'Usage of all images, in the last event; present if the provider reported it.',
  })
  usage?: ImageUsage;

  @ApiPropertyOptional({
    type: [String],
    description:
      'In the last event: options that were adapted or ignored, and images that are missing, as text. Absent if there were none.',
  })
  warnings?: string[];
}

interface EventTask extends ResultTask {
  readonly options: ResultTask['options'] & {
    readonly pixels: { readonly width: number; readonly height: number } | null;
  };
}

/** A partial image. Its size is that of the finished image, or `auto` where the provider chooses it and does not say. */
export function partialEvent(
  task: EventTask,
  partial: {
    readonly index: number;
    readonly format: string;
    readonly size?: string | undefined;
    readonly base64: string;
  },
): ImagePartialEvent {
  const { pixels } = task.options;
  return {
    type: `${familyOf(task)}.partial_image`,
    b64_json: partial.base64,
    size: pixels === null ? (partial.size ?? 'auto') : `${pixels.width}x${pixels.height}`,
    output_format: partial.format,
    ...commonOf(task),
    partial_image_index: partial.index,
  };
}

/** The event of one of a completed task's images; the last one contains the usage of all images, and the warnings. */
export function completedEvent(
  task: ResultTask,
  images: readonly ResultImage[],
  index: number,
  base64: string,
): ImageCompletedEvent {
  const image = images[index] as ResultImage;
  const isLast = index === images.length - 1;
  return {
    type: `${familyOf(task)}.completed`,
    b64_json: base64,
    size: measuredSize(image),
    output_format: formatOf(image),
    ...commonOf(task),
    ...endUserOf(task),
    ...(task.usage === null || !isLast ? {} : { usage: task.usage }),
    ...(isLast ? warningsOf(task, images[0]) : {}),
  };
}

/** As OpenAI's: an empty identifier is none. */
function endUserOf({ options: { safetyIdentifier, user } }: ResultTask): { safety_identifier?: string } {
  const identifier = safetyIdentifier || user;
  return identifier ? { safety_identifier: identifier } : {};
}

function familyOf(task: ResultTask): string {
  return task.action === 'edit' ? 'image_edit' : 'image_generation';
}

function commonOf({ options }: ResultTask): { created_at: number; quality: string; background: string } {
  return {
    created_at: unixSeconds(new Date()),
    quality: options.quality ?? 'auto',
    background: options.background === 'transparent' ? 'transparent' : 'opaque',
  };
}

import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { OUTPUT_FORMATS } from './accepted-values.js';
import { measuredSize, unixSeconds, type ResultImage, type ResultTask } from './image-result.js';
import { ImageUsageView } from './image-usage-view.js';
import type { ImageUsage } from './image-usage.js';

/** One result of a sync call: a link, the bytes, or both where the request does not say which. */
export class ImageData {
  @ApiPropertyOptional({ format: 'uri', description: 'Works without authorization until it expires.' })
  url?: string;

  @ApiPropertyOptional({ description: 'Raw base64, without a data: prefix.' })
  b64_json?: string;
}

/** 200 of generations and edits. */
export class ImageResponse {
  @ApiProperty({ type: 'integer', description: 'Unix seconds.' })
  created!: number;

  @ApiProperty({ type: [ImageData], minItems: 1, description: 'One item for each image.' })
  data!: ImageData[];

  @ApiProperty({ example: '2048x2048', description: 'Measured from the bytes.' })
  size!: string;

  @ApiProperty({ enum: OUTPUT_FORMATS })
  output_format!: string;

  @ApiProperty({ enum: ['transparent', 'opaque'] })
  background!: string;

  @ApiProperty()
  quality!: string;

  @ApiPropertyOptional({ type: ImageUsageView, description: 'Only when the provider reported it.' })
  usage?: ImageUsage;
}

/** The 200 body of a completed task, `first` of whose images it describes; `data` has an item for each of them. */
export function imageResponse(task: ResultTask, first: ResultImage, data: ImageData[]): ImageResponse {
  return {
    created: unixSeconds(task.createdAt),
    data,
    size: measuredSize(first),
    output_format: first.contentType.replace('image/', ''),
    background: task.options.background === 'transparent' ? 'transparent' : 'opaque',
    quality: task.options.quality ?? 'auto',
    ...(task.usage === null ? {} : { usage: task.usage }),
  };
}

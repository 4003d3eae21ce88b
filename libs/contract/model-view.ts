import { ApiProperty } from '@nestjs/swagger';
import { IMAGE_MODELS } from './image-request.js';

/** One model in OpenAI's shape. */
export class ModelView {
  @ApiProperty({ example: 'gpt-image-2' })
  id!: string;

  @ApiProperty({ enum: ['model'] })
  object!: 'model';

  @ApiProperty({ type: 'integer', description: 'Unix seconds.' })
  created!: number;

  @ApiProperty()
  owned_by!: string;

  @ApiProperty({ type: [String], example: ['image-generation'] })
  supported_endpoint_types!: string[];
}

/** GET /v1/models. */
export class ModelListResponse {
  @ApiProperty({ enum: ['list'] })
  object!: 'list';

  @ApiProperty({ type: [ModelView] })
  data!: ModelView[];
}

/** 2026-04-21, when gpt-image-2 was published. */
const CREATED = 1_776_729_600;

/** Every model served, in the order in which they are listed. */
export const MODELS: readonly ModelView[] = IMAGE_MODELS.map((id) => ({
  id,
  object: 'model',
  created: CREATED,
  owned_by: 'darkroom',
  supported_endpoint_types: ['image-generation'],
}));

import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsDefined, IsIn, IsInt, IsOptional, IsString, Min } from 'class-validator';
import { RESOLUTIONS, type Resolution } from '#contract/pixel-table.js';

const ACTIONS = ['generation', 'edit'] as const;

/** The options of an image that affect its price and time; the model decides which values are valid. */
export class QuoteBody {
  @ApiProperty()
  @IsDefined()
  @IsString()
  model!: string;

  @ApiPropertyOptional({ enum: ACTIONS, default: 'generation' })
  @IsIn(ACTIONS, { message: `action must be one of ${ACTIONS.join(', ')}` })
  action: (typeof ACTIONS)[number] = 'generation';

  @ApiPropertyOptional({ example: '16:9' })
  @IsOptional()
  @IsString()
  size?: string;

  @ApiPropertyOptional({ enum: RESOLUTIONS })
  @IsOptional()
  @IsIn([...RESOLUTIONS], { message: `resolution must be one of ${RESOLUTIONS.join(', ')}` })
  resolution?: Resolution;

  @ApiPropertyOptional({ example: 'high' })
  @IsOptional()
  @IsString()
  quality?: string;

  @ApiPropertyOptional({ type: 'integer', minimum: 1 })
  @IsOptional()
  @IsInt()
  @Min(1, { message: 'n must be at least 1' })
  n?: number;
}

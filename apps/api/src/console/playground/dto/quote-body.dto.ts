import { ApiPropertyOptional } from '@nestjs/swagger';
import { ChoiceField, IntegerField, OneOf, TextField } from '#contract/field.js';
import { RESOLUTIONS, type Resolution } from '#contract/pixel-table.js';

const ACTIONS = ['generation', 'edit'] as const;

/** The options of an image that affect its price and time; the model decides which values are valid. */
export class QuoteBody {
  @TextField()
  model!: string;

  @ApiPropertyOptional({ enum: ACTIONS, default: 'generation' })
  @OneOf(ACTIONS)
  action: (typeof ACTIONS)[number] = 'generation';

  @TextField({ optional: true, example: '16:9' })
  size?: string;

  @ChoiceField(RESOLUTIONS, { optional: true })
  resolution?: Resolution;

  @TextField({ optional: true, example: 'high' })
  quality?: string;

  @IntegerField({ optional: true, min: 1 })
  n?: number;
}

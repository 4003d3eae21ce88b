import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { QuoteResponse } from '#contract/cost-view.js';
import { ModelView } from '#contract/model-view.js';
import { ListOf } from '../../dto/list-views.dto.js';

/** The cost and time of an order. */
export class ConsoleQuoteView extends QuoteResponse {
  @ApiPropertyOptional({
    type: 'integer',
    description: 'Seconds from acceptance to the end. Absent while nothing like it was measured, and without a worker.',
  })
  estimated_time?: number;
}

/** An image model in the playground. */
export class PlaygroundModelView extends ModelView {
  @ApiProperty({ description: 'Its images are drawn by the sandbox, which needs no provider.' })
  sandbox!: boolean;

  @ApiProperty({ description: 'Whether `background: transparent` is honored by one of its routes.' })
  transparency!: boolean;
}

/** The image models, in the order of the catalog. */
export class PlaygroundModelListView extends ListOf(PlaygroundModelView) {}

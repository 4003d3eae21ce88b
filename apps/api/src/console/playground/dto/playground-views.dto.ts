import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { QuoteResponse } from '#contract/cost-view.js';
import { ModelView } from '#contract/model-view.js';
import { WaitingView } from '../../dto/waiting-view.dto.js';
import { ListOf } from '../../dto/list-views.dto.js';

/** The cost and time of an order. */
export class ConsoleQuoteView extends QuoteResponse {
  @ApiPropertyOptional({
    type: 'integer',
    description:
      'Estimated seconds from acceptance to the end. Absent if there are no measurements, or the order would wait.',
  })
  estimated_time?: number;

  @ApiProperty({
    type: WaitingView,
    nullable: true,
    description: 'Why it would wait; null if it would only take its turn.',
  })
  waiting!: WaitingView | null;
}

/** An image model in the playground. */
export class PlaygroundModelView extends ModelView {
  @ApiProperty({ description: 'Whether the sandbox generates the images, without a provider.' })
  sandbox!: boolean;

  @ApiProperty({ description: 'Whether at least one route supports `background: transparent`.' })
  transparency!: boolean;

  @ApiProperty({ description: 'Whether at least one route draws GIFs with `frame_count` frames.' })
  frames!: boolean;
}

/** The image models, in the order of the catalog. */
export class PlaygroundModelListView extends ListOf(PlaygroundModelView) {}

import { ApiProperty } from '@nestjs/swagger';
import { decimalOf } from './money.js';

/** What usage is added up by. */
export const USAGE_GROUPINGS = ['model', 'key', 'end_user', 'tag'] as const;
export type UsageGrouping = (typeof USAGE_GROUPINGS)[number];

const NO_GROUP =
  'Name of the model or key, identifier of the end user, or tag. By end user, null is everything else, and usage without one.';

/** Usage of an account over some time. */
export class UsageFiguresView {
  @ApiProperty({ type: 'integer' })
  images!: number;

  @ApiProperty({ type: 'integer', description: 'Failed tasks.' })
  failed!: number;

  @ApiProperty({ type: 'integer' })
  chats!: number;

  @ApiProperty({ example: '1.200000', description: 'Settled, and what is reserved for tasks that have not ended.' })
  spend!: string;

  @ApiProperty({ type: 'integer', description: 'Images without a known price, not included in `spend`.' })
  unpriced_images!: number;

  @ApiProperty({ type: 'integer', description: 'Chats without a known price, not included in `spend`.' })
  unpriced_chats!: number;

  @ApiProperty({ type: 'integer', description: 'Tokens reported by providers.' })
  input_tokens!: number;

  @ApiProperty({ type: 'integer' })
  output_tokens!: number;
}

/** Usage of a group over the whole time. */
export class GroupUsageView extends UsageFiguresView {
  @ApiProperty({ type: String, nullable: true, description: NO_GROUP })
  group!: string | null;
}

/** Usage of a group on a day. */
export class DayUsageView extends GroupUsageView {
  @ApiProperty({ type: 'integer', example: 1795219200, description: 'Start of the day, in UTC.' })
  time!: number;
}

/** Response of GET /v1/usage. Times are Unix seconds. */
export class UsageResponse {
  @ApiProperty({ enum: ['usage'] })
  object!: 'usage';

  @ApiProperty({ enum: USAGE_GROUPINGS })
  group_by!: UsageGrouping;

  @ApiProperty({ type: 'integer', description: 'Its whole day in UTC counts.' })
  start!: number;

  @ApiProperty({ type: 'integer', description: 'Exclusive; its whole day counts.' })
  end!: number;

  @ApiProperty({ example: 'USD' })
  currency!: string;

  @ApiProperty({ type: [DayUsageView], description: 'By day, only days with usage.' })
  data!: DayUsageView[];

  @ApiProperty({ type: [GroupUsageView], description: 'Totals of each group.' })
  groups!: GroupUsageView[];

  @ApiProperty({ type: UsageFiguresView, description: 'Overall totals. A task with several tags counts once.' })
  total!: UsageFiguresView;
}

/** Usage in millionths, without latencies. */
interface Figures {
  readonly images: number;
  readonly failed: number;
  readonly chats: number;
  readonly spend: number;
  readonly unpricedImages: number;
  readonly unpricedChats: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** The figures as responses show them; zeros if there are none. */
export function usageFiguresView(figures: Figures | undefined): UsageFiguresView {
  return {
    images: figures?.images ?? 0,
    failed: figures?.failed ?? 0,
    chats: figures?.chats ?? 0,
    spend: decimalOf(figures?.spend ?? 0),
    unpriced_images: figures?.unpricedImages ?? 0,
    unpriced_chats: figures?.unpricedChats ?? 0,
    input_tokens: figures?.inputTokens ?? 0,
    output_tokens: figures?.outputTokens ?? 0,
  };
}

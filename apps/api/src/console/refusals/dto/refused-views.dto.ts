import { ApiProperty } from '@nestjs/swagger';
import type { NamedRefusals } from '#accounts/refused-calls.repository.js';
import { ListOf } from '../../dto/list-views.dto.js';

/** The key or account of refused calls. */
class RefusedSenderView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;
}

/** Refused calls of one key with one error. */
class RefusedCallsView {
  @ApiProperty({ type: RefusedSenderView, nullable: true, description: 'Null: sent without a valid key.' })
  account!: RefusedSenderView | null;

  @ApiProperty({
    type: RefusedSenderView,
    nullable: true,
    description: 'Null: sent without a valid key, or one of too many keys and errors in its minute.',
  })
  key!: RefusedSenderView | null;

  @ApiProperty({ example: 'rate_limit_exceeded', description: 'Error code, as the caller got it.' })
  code!: string;

  @ApiProperty({ type: 'integer', example: 429, description: 'HTTP status.' })
  status!: number;

  @ApiProperty({ type: 'integer', description: 'Number of calls.' })
  count!: number;
}

/** All of a key's refused calls with one error in the period. */
class RefusedGroupView extends RefusedCallsView {
  @ApiProperty({ format: 'date-time', description: 'The minute of the first one.' })
  first_at!: string;

  @ApiProperty({ format: 'date-time', description: 'The minute of the last one.' })
  last_at!: string;
}

/** The most frequent ones first. */
export class RefusedGroupListView extends ListOf(RefusedGroupView) {
  @ApiProperty({ type: 'integer', description: 'Number of all refused calls, listed or not.' })
  total!: number;

  @ApiProperty({ description: 'Whether there are more than listed.' })
  has_more!: boolean;
}

/** A key's refused calls with one error in one minute. */
class RefusedMinuteView extends RefusedCallsView {
  @ApiProperty({ format: 'date-time', description: 'Start of the minute.' })
  minute!: string;
}

/** The latest minutes first. */
export class RefusedMinuteListView extends ListOf(RefusedMinuteView) {
  @ApiProperty({ description: 'Whether there are more than listed: ask for one key or code, or fewer hours.' })
  has_more!: boolean;
}

/** What both lists show of refused calls. */
export function refusedView({ account, key, code, status, count }: NamedRefusals): RefusedCallsView {
  return { account, key, code, status, count };
}

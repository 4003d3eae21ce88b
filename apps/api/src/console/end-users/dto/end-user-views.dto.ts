import { ApiProperty } from '@nestjs/swagger';
import { END_USER_REFUSALS_DAYS } from '#accounts/end-user-refusals.repository.js';
import { END_USER_STATES, type EndUserCause, type EndUserStateName } from '#accounts/end-user-state.js';

const CAUSES: readonly EndUserCause[] = ['person', 'provider', 'refusals'];

/** Requests of an end user that providers refused for their content. */
class EndUserRefusalsView {
  @ApiProperty({ type: 'integer', description: 'Refused before anything was generated.' })
  input!: number;

  @ApiProperty({ type: 'integer', description: 'Refused after the image or the answer was generated.' })
  output!: number;

  @ApiProperty({ type: 'integer', description: 'Refused by providers that do not say when.' })
  unknown!: number;
}

/** An end user, what is done about them, and why. */
export class EndUserView {
  @ApiProperty({ description: 'As it is recorded.' })
  end_user!: string;

  @ApiProperty({ enum: END_USER_STATES, description: 'Requests of paused and blocked end users get a 403.' })
  state!: EndUserStateName;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'When a pause ends.' })
  until!: string | null;

  @ApiProperty({ enum: CAUSES, nullable: true, description: 'Null with the state `none`, as is the rest.' })
  cause!: EndUserCause | null;

  @ApiProperty({ type: String, nullable: true })
  reason!: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Whose notice it was.' })
  provider!: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'The provider’s name of its case.' })
  case_id!: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Name of the user who changed the state.' })
  changed_by!: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  changed_at!: string | null;

  @ApiProperty({ type: EndUserRefusalsView, description: `Of the last ${END_USER_REFUSALS_DAYS} days.` })
  refusals!: EndUserRefusalsView;
}

/** End users that need attention. */
export class EndUserListView {
  @ApiProperty({ type: [EndUserView], description: 'Flagged, paused, or blocked; latest first, 100 at most.' })
  data!: EndUserView[];

  @ApiProperty({ description: 'Whether there are more than listed.' })
  has_more!: boolean;

  @ApiProperty({ type: [EndUserView], description: 'Those with the most refused requests; 20 at most.' })
  most_refused!: EndUserView[];
}

/** When end users are paused. */
export class PauseRuleView {
  @ApiProperty({ type: 'integer', nullable: true, description: 'After so many refused requests; null = never.' })
  refusals!: number | null;

  @ApiProperty({ type: 'integer', description: 'Within so many minutes.' })
  window_minutes!: number;

  @ApiProperty({ type: 'integer', description: 'For so many minutes.' })
  pause_minutes!: number;
}

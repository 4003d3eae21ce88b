import { ChoiceField, IntegerField, TextField } from '#contract/field.js';
import { MAX_END_USER_HEADER } from '#contract/labels.js';

const MAX_REASON = 500;
const MAX_IDENTIFIER = 64;
/** A week. */
const MAX_MINUTES = 10_080;

/** An end user to look for. In a body, because URLs are logged. */
export class FindEndUserBody {
  @TextField({
    notEmpty: true,
    maxLength: MAX_END_USER_HEADER,
    example: 'eu_6FVXSYUCeVLKlJmXpcmhnJZJnBNnOGM4DZfVNEg1vnA',
    description: 'As it is recorded, or as the application sends it.',
  })
  identifier!: string;
}

/** What is to be done about an end user. */
export class EndUserStateBody {
  @TextField({ notEmpty: true, maxLength: MAX_IDENTIFIER, description: 'As it is recorded.' })
  end_user!: string;

  @ChoiceField(['none', 'flagged', 'blocked'], {
    description: '`none` ends any other state, a pause too. Requests of a flagged end user go on.',
  })
  state!: 'none' | 'flagged' | 'blocked';

  @TextField({ optional: true, nullable: true, notEmpty: true, maxLength: MAX_REASON })
  reason?: string | null;
}

/** When end users are paused; all three, or `refusals` = null for never. */
export class PauseRuleBody {
  @IntegerField({
    optional: true,
    nullable: true,
    min: 1,
    max: 1_000,
    description: 'After so many requests that providers refused for their content; null = never.',
  })
  refusals?: number | null;

  @IntegerField({ min: 1, max: MAX_MINUTES, description: 'Within so many minutes.' })
  window_minutes!: number;

  @IntegerField({ min: 1, max: MAX_MINUTES, description: 'For so many minutes.' })
  pause_minutes!: number;
}

import { ApiProperty } from '@nestjs/swagger';
import { ACCOUNT_LIMITS, type AccountLimitName, type AccountLimitRow } from '#contract/account-limits.js';
import { DEFAULT_RESPONSE_FORMATS, type DefaultResponseFormat } from '#contract/accepted-values.js';
import { BudgetView, SpentView } from '../../dto/budget-view.dto.js';
import { AccountLimitFields, type AccountLimitField } from './account-limit-fields.js';
import { TagApproval } from './tag-approvals.dto.js';
import { LinkView } from './team-views.dto.js';
import { ListOf } from '../../dto/list-views.dto.js';

type Limits = { weight: number } & Record<AccountLimitName, number | null>;
type Defaults = Record<AccountLimitField, number>;

/** Operators' limits for all keys of an account together: null = the default, 0 = unlimited. */
export class AccountLimitsView extends AccountLimitFields<Limits>((name) =>
  name === 'weight'
    ? ApiProperty({ type: 'integer', description: 'Share of the queue relative to other accounts.' })
    : ApiProperty({ type: 'integer', nullable: true, ...described(ACCOUNT_LIMITS[name]) }),
) {}

/** Defaults where nothing is set; 0 = unlimited. */
export class AccountDefaultsView extends AccountLimitFields<Defaults>(() => ApiProperty({ type: 'integer' })) {}

/** Limits of a key where none is set; 0 = unlimited. */
export class KeyDefaultsView {
  @ApiProperty({ type: 'integer' })
  submits_per_minute!: number;

  @ApiProperty({ type: 'integer' })
  polls_per_minute!: number;

  @ApiProperty({ type: 'integer' })
  tasks_in_flight!: number;
}

function described({ description }: AccountLimitRow): { description?: string } {
  return description === undefined ? {} : { description };
}

class AccountView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty({ format: 'date-time' })
  created_at!: string;

  @ApiProperty({ description: 'Whether users with a password must use two-factor authentication.' })
  require_two_factor!: boolean;

  @ApiProperty({ type: BudgetView, nullable: true })
  budget!: BudgetView | null;

  @ApiProperty({
    type: String,
    nullable: true,
    example: '0.500000',
    description:
      'What a request of any of its keys may cost without an approval, set by operators; null = any amount. The lowest threshold counts.',
  })
  approve_above!: string | null;

  @ApiProperty({ type: SpentView, description: 'Spent and reserved since the start of the month (UTC).' })
  spend!: SpentView;

  @ApiProperty({ type: AccountLimitsView })
  limits!: AccountLimitsView;

  @ApiProperty({ type: AccountDefaultsView, description: 'The deployment’s defaults.' })
  defaults!: AccountDefaultsView;

  @ApiProperty({ type: KeyDefaultsView, description: 'What a key without limits of its own has.' })
  key_defaults!: KeyDefaultsView;
}

/** An account as its own admins see it. */
export class OwnAccountView extends AccountView {
  @ApiProperty({ type: String, nullable: true, example: '0.500000', description: 'The same, set by its own admins.' })
  own_approve_above!: string | null;

  @ApiProperty({ type: [TagApproval], description: 'The same for requests with a tag, by tag.' })
  tag_approvals!: TagApproval[];
}

/** An account as operators see it: figures only, never its prompts or images. */
export class AccountRowView extends AccountView {
  @ApiProperty({ description: 'The first account, which cannot be disabled.' })
  first!: boolean;

  @ApiProperty({ type: String, nullable: true, format: 'date-time' })
  disabled_at!: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    format: 'date-time',
    description: 'Whether the account was deleted; only its usage and spend are kept.',
  })
  deleted_at!: string | null;

  @ApiProperty({ enum: DEFAULT_RESPONSE_FORMATS, nullable: true, description: 'null = the installation’s default.' })
  default_response_format!: DefaultResponseFormat | null;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'Tasks are deleted so many seconds after their acceptance; null = retention alone decides.',
  })
  keep_seconds!: number | null;

  @ApiProperty({ type: 'integer', description: 'Number of users who can sign in.' })
  people!: number;

  @ApiProperty({ type: 'integer', description: 'Number of admins among them.' })
  admins!: number;

  @ApiProperty({ type: 'integer', description: 'Active keys.' })
  keys!: number;

  @ApiProperty({ type: 'integer', description: 'Waiting and running tasks.' })
  tasks_in_flight!: number;
}

/** Every account of the installation, oldest first. */
export class AccountListView extends ListOf(AccountRowView) {}

/** The account and its owner's link, which is shown only once. */
export class NewAccountView extends LinkView {
  @ApiProperty({ type: AccountRowView })
  account!: AccountRowView;
}

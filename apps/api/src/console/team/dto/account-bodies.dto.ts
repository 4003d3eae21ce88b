import type { AccountLimits } from '#accounts/account-store.js';
import { eachAccountLimit } from '#contract/account-limits.js';
import { ChoiceField, FlagField, IntegerField } from '#contract/field.js';
import { MAX_KEPT_SECONDS, MIN_KEPT_SECONDS } from '#contract/kept-seconds.js';
import { DEFAULT_RESPONSE_FORMATS, type DefaultResponseFormat } from '#contract/accepted-values.js';
import { ApproveAboveField, BudgetBody } from '../../dto/budget-body.dto.js';
import { LimitField, WeightField } from '../../dto/limit-body.dto.js';
import { NameField } from '../../dto/name-body.dto.js';
import { NewEmailField } from '../../sign-in/dto/sign-in-bodies.dto.js';
import { TagApprovalsField, type TagApproval } from './tag-approvals.dto.js';
import { AccountLimitFields, type AccountLimitField } from './account-limit-fields.js';

type Limits = Partial<Record<AccountLimitField, number | null>>;

/** Operators' settings for all keys of an account together. */
class AccountSettingsBody extends AccountLimitFields<BudgetBody & Limits>(
  (name) => (name === 'weight' ? WeightField() : LimitField()),
  BudgetBody,
) {
  @ApproveAboveField()
  approve_above?: string | null;
}

/** A new account, and the email address that its owner is invited with. */
export class NewAccountBody extends AccountSettingsBody {
  @NameField()
  name!: string;

  @NewEmailField({ description: 'Email address of the owner.' })
  email!: string;
}

/** Settings that an account's own owners and admins change; absent = unchanged, and so is null, except of an amount. */
export class OwnAccountChangeBody {
  @NameField({ optional: true })
  name?: string | null;

  @FlagField({
    optional: true,
    description: 'Require two-factor authentication from all users with a password, from their next request on.',
  })
  require_two_factor?: boolean | null;

  @ApproveAboveField()
  own_approve_above?: string | null;

  @TagApprovalsField()
  tag_approvals?: TagApproval[] | null;
}

/** Absent = unchanged; null also leaves the name and the disabled state unchanged. */
export class AccountChangeBody extends AccountSettingsBody {
  @NameField({ optional: true })
  name?: string | null;

  @FlagField({
    optional: true,
    description: 'Its keys are rejected within 10 seconds, and its users are signed out immediately.',
  })
  disabled?: boolean | null;

  @ChoiceField(DEFAULT_RESPONSE_FORMATS, {
    optional: true,
    nullable: true,
    description: 'Applies if neither the request nor its key sets one; null = the installation’s default.',
    wording: 'library',
  })
  default_response_format?: DefaultResponseFormat | null;

  @IntegerField({
    optional: true,
    nullable: true,
    min: MIN_KEPT_SECONDS,
    max: MAX_KEPT_SECONDS,
    description:
      'Tasks are deleted so many seconds after their acceptance if neither the request nor its key says otherwise; null = retention alone decides.',
  })
  keep_seconds?: number | null;
}

/** The limits that a body changes; null resets one to its default. */
export function accountLimits(body: AccountSettingsBody): Partial<AccountLimits> {
  const given = eachAccountLimit((name, column) => [column, body[name]] as const);
  const columns = Object.fromEntries(Object.values(given).filter(([, value]) => value !== undefined));
  return { ...columns, ...(body.weight !== undefined && { weight: body.weight ?? 1 }) };
}

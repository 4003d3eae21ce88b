import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsDefined, IsIn, IsOptional, IsString } from 'class-validator';
import type { AccountLimits } from '#accounts/account-store.js';
import { eachAccountLimit } from '#contract/account-limits.js';
import { DEFAULT_RESPONSE_FORMATS, type DefaultResponseFormat } from '#contract/accepted-values.js';
import { BudgetBody } from '../../dto/budget-body.dto.js';
import { IsLimit, IsWeight } from '../../dto/limit-body.dto.js';
import { IsName } from '../../dto/name-body.dto.js';
import { IsNewEmailAddress } from '../../sign-in/dto/sign-in-bodies.dto.js';
import { AccountLimitFields, type AccountLimitField } from './account-limit-fields.js';

type Limits = Partial<Record<AccountLimitField, number | null>>;

/** Operators' settings for all keys of an account together. */
class AccountSettingsBody extends AccountLimitFields<BudgetBody & Limits>(
  (name) => (name === 'weight' ? IsWeight() : IsLimit()),
  BudgetBody,
) {}

/** A new account, and the email address that its owner is invited with. */
export class NewAccountBody extends AccountSettingsBody {
  @ApiProperty()
  @IsDefined()
  @IsString()
  @IsName()
  name!: string;

  @ApiProperty({ description: 'Email address of the owner.' })
  @IsDefined()
  @IsString()
  @IsNewEmailAddress()
  email!: string;
}

/** Settings that an account's own owners and admins change; absent or null = unchanged. */
export class OwnAccountChangeBody {
  @ApiPropertyOptional({ type: String })
  @IsOptional()
  @IsString()
  @IsName()
  name?: string | null;

  @ApiPropertyOptional({
    type: Boolean,
    description: 'Require two-factor authentication from all users with a password, from their next request on.',
  })
  @IsOptional()
  @IsBoolean()
  require_two_factor?: boolean | null;
}

/** Absent = unchanged; null also leaves the name and the disabled state unchanged. */
export class AccountChangeBody extends AccountSettingsBody {
  @ApiPropertyOptional({ type: String })
  @IsOptional()
  @IsString()
  @IsName()
  name?: string | null;

  @ApiPropertyOptional({
    type: Boolean,
    description: 'Its keys are rejected within 10 seconds, and its users are signed out immediately.',
  })
  @IsOptional()
  @IsBoolean()
  disabled?: boolean | null;

  @ApiPropertyOptional({
    enum: DEFAULT_RESPONSE_FORMATS,
    nullable: true,
    description: 'Applies if neither the request nor its key sets one; null = the installation’s default.',
  })
  @IsOptional()
  @IsIn([...DEFAULT_RESPONSE_FORMATS])
  default_response_format?: DefaultResponseFormat | null;
}

/** The limits that a body changes; null resets one to its default. */
export function accountLimits(body: AccountSettingsBody): Partial<AccountLimits> {
  const given = eachAccountLimit((name, column) => [column, body[name]] as const);
  const columns = Object.fromEntries(Object.values(given).filter(([, value]) => value !== undefined));
  return { ...columns, ...(body.weight !== undefined && { weight: body.weight ?? 1 }) };
}

import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsDefined, IsIn, IsOptional, IsString } from 'class-validator';
import type { AccountLimits } from '#accounts/account-store.js';
import { DEFAULT_RESPONSE_FORMATS, type DefaultResponseFormat } from '#contract/accepted-values.js';
import { BudgetBody } from '../../dto/budget-body.dto.js';
import { IsLimit, IsWeight } from '../../dto/limit-body.dto.js';
import { IsName } from '../../dto/name-body.dto.js';
import { IsNewEmailAddress } from '../../sign-in/dto/sign-in-bodies.dto.js';

/** Operators' settings for all keys of an account together. */
class AccountSettingsBody extends BudgetBody {
  @IsWeight()
  weight?: number | null;

  @IsLimit()
  submits_per_minute?: number | null;

  @IsLimit()
  polls_per_minute?: number | null;

  @IsLimit()
  chats_per_minute?: number | null;

  @IsLimit()
  tasks_in_flight?: number | null;

  @IsLimit()
  max_keys?: number | null;
}

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
  const given = {
    weight: body.weight === null ? 1 : body.weight,
    submitsPerMinute: body.submits_per_minute,
    pollsPerMinute: body.polls_per_minute,
    chatsPerMinute: body.chats_per_minute,
    tasksInFlight: body.tasks_in_flight,
    maxKeys: body.max_keys,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsDefined, IsIn, IsOptional, IsString } from 'class-validator';
import type { AccountLimits } from '#accounts/account-store.js';
import { DEFAULT_RESPONSE_FORMATS, type DefaultResponseFormat } from '#contract/accepted-values.js';
import { BudgetBody } from '../../dto/budget-body.dto.js';
import { IsLimit, IsWeight } from '../../dto/limit-body.dto.js';
import { IsName } from '../../dto/name-body.dto.js';
import { IsEmailAddress } from '../../sign-in/dto/sign-in-bodies.dto.js';

/** What operators set for all keys of an account together. */
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

/** An account that is to be made, and the address its owner is invited by. */
export class NewAccountBody extends AccountSettingsBody {
  @ApiProperty()
  @IsDefined()
  @IsString()
  @IsName()
  name!: string;

  @ApiProperty({ description: 'Of its owner.' })
  @IsDefined()
  @IsString()
  @IsEmailAddress()
  email!: string;
}

/** What its owners and admins change of an account; what is absent or null stays as it is. */
export class OwnAccountChangeBody {
  @ApiPropertyOptional({ type: String })
  @IsOptional()
  @IsString()
  @IsName()
  name?: string | null;

  @ApiPropertyOptional({ type: Boolean, description: 'Of everyone who has a password, with their next request.' })
  @IsOptional()
  @IsBoolean()
  require_two_factor?: boolean | null;
}

/** What is absent stays as it is; so do a name and whether it is disabled when they are null. */
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
    description: 'Of calls that ask for none, with keys that have none; null = the default of the installation.',
  })
  @IsOptional()
  @IsIn([...DEFAULT_RESPONSE_FORMATS])
  default_response_format?: DefaultResponseFormat | null;
}

/** The limits that a body changes; null takes one back to its default. */
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

import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsDefined, IsIn, IsOptional, IsString } from 'class-validator';
import { INVITED_ROLES, ROLES, type InvitedRole, type Role } from '#accounts/person-rules.js';
import { AppError } from '#contract/app-error.js';
import { IsNewEmailAddress } from '../../sign-in/dto/sign-in-bodies.dto.js';

const IsRole = (roles: readonly Role[]) => IsIn(roles, { message: `role must be one of ${roles.join(', ')}` });

/** The new admin of an account. */
export class InviteAdminBody {
  @ApiProperty()
  @IsDefined()
  @IsString()
  @IsNewEmailAddress()
  email!: string;
}

/** An invitation: the new user and their role. */
export class InviteBody extends InviteAdminBody {
  @ApiProperty({ enum: INVITED_ROLES })
  @IsDefined()
  @IsRole(INVITED_ROLES)
  role!: InvitedRole;
}

/** Absent or null = unchanged; the last enabled owner can't be removed. */
export class PersonChangeBody {
  @ApiPropertyOptional({ enum: ROLES })
  @IsOptional()
  @IsRole(ROLES)
  role?: Role | null;

  @ApiPropertyOptional({ type: Boolean, description: 'Disabled members are signed out immediately.' })
  @IsOptional()
  @IsBoolean()
  disabled?: boolean | null;
}

/** The name of the account or user to delete, typed as a confirmation. */
export class DeletionBody {
  @ApiProperty({ description: 'Exact name of the account or user, as confirmation.' })
  @IsDefined()
  @IsString()
  name!: string;
}

/** The user to delete. */
export class PersonDeletionBody extends DeletionBody {
  @ApiPropertyOptional({
    type: Boolean,
    description: 'Whether to revoke the keys the user created; false by default.',
  })
  @IsOptional()
  @IsBoolean()
  revoke_keys?: boolean | null;
}

/** Throws AppError `invalid_value` unless the typed name matches exactly. */
export function assertTyped(typed: string, name: string): void {
  if (typed.trim() === name.trim()) return;
  throw new AppError('invalid_value', 'Type the name exactly as it is shown.', { param: 'name' });
}

import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsDefined, IsIn, IsOptional, IsString } from 'class-validator';
import { INVITED_ROLES, ROLES, type InvitedRole, type Role } from '#accounts/person-rules.js';
import { AppError } from '#contract/app-error.js';
import { IsEmailAddress } from '../../sign-in/dto/sign-in-bodies.dto.js';

const IsRole = (roles: readonly Role[]) => IsIn(roles, { message: `role must be one of ${roles.join(', ')}` });

/** Who is to be an account's admin. */
export class InviteAdminBody {
  @ApiProperty()
  @IsDefined()
  @IsString()
  @IsEmailAddress()
  email!: string;
}

/** Who is to come in, and as what. */
export class InviteBody extends InviteAdminBody {
  @ApiProperty({ enum: INVITED_ROLES })
  @IsDefined()
  @IsRole(INVITED_ROLES)
  role!: InvitedRole;
}

/** What is absent or null stays as it is; the last owner who may come in can't go. */
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

/** The name of what is to be deleted, typed as a confirmation. */
export class DeletionBody {
  @ApiProperty({ description: 'Of the account or person that is deleted or left, exactly.' })
  @IsDefined()
  @IsString()
  name!: string;
}

/** Who is to be deleted. */
export class PersonDeletionBody extends DeletionBody {
  @ApiPropertyOptional({
    type: Boolean,
    description: 'Whether the keys that they created are revoked; false unless set.',
  })
  @IsOptional()
  @IsBoolean()
  revoke_keys?: boolean | null;
}

/** Throws AppError `invalid_value` unless the name was typed as it is. */
export function assertTyped(typed: string, name: string): void {
  if (typed.trim() === name.trim()) return;
  throw new AppError('invalid_value', 'Type the name exactly as it is shown.', { param: 'name' });
}

import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsDefined, IsIn, IsOptional, IsString } from 'class-validator';
import { ROLES, type Role } from '#accounts/person-rules.js';
import { IsEmailAddress } from '../../sign-in/dto/sign-in-bodies.dto.js';

const IsRole = () => IsIn(ROLES, { message: `role must be one of ${ROLES.join(', ')}` });

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
  @ApiProperty({ enum: ROLES })
  @IsDefined()
  @IsRole()
  role!: Role;
}

/** What is absent or null stays as it is; the last admin who may come in can't go. */
export class PersonChangeBody {
  @ApiPropertyOptional({ enum: ROLES })
  @IsOptional()
  @IsRole()
  role?: Role | null;

  @ApiPropertyOptional({ type: Boolean, description: 'Disabled members are signed out at once.' })
  @IsOptional()
  @IsBoolean()
  disabled?: boolean | null;
}

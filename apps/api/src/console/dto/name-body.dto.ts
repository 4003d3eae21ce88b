import { ApiProperty } from '@nestjs/swagger';
import { IsDefined, IsString, Matches } from 'class-validator';
import { VISIBLE_NAME } from '#contract/text-rules.js';

/** A valid name of a key, a user, or an account. */
export const IsName = () => Matches(VISIBLE_NAME, { message: 'name must have 1 to 100 visible characters' });

/** A new name of a user or an account. */
export class NameBody {
  @ApiProperty()
  @IsDefined()
  @IsString()
  @IsName()
  name!: string;
}

import { ApiProperty } from '@nestjs/swagger';
import { IsDefined, IsString, Matches } from 'class-validator';

const NAME = /^(?=.*\S)[^\p{C}]{1,100}$/u;

/** What a key, a person and an account may be called. */
export const IsName = () => Matches(NAME, { message: 'name must have 1 to 100 visible characters' });

export class NameBody {
  @ApiProperty()
  @IsDefined()
  @IsString()
  @IsName()
  name!: string;
}

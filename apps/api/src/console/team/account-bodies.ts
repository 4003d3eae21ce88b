import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsDefined, IsOptional, IsString } from 'class-validator';
import { BudgetBody } from '../budget-body.js';
import { IsName } from '../name-body.js';
import { IsEmailAddress } from '../sign-in/sign-in-bodies.js';

export class NewAccountBody extends BudgetBody {
  @ApiProperty()
  @IsDefined()
  @IsString()
  @IsName()
  name!: string;

  @ApiProperty({ description: 'Of its first admin.' })
  @IsDefined()
  @IsString()
  @IsEmailAddress()
  email!: string;
}

export class AccountChangeBody extends BudgetBody {
  @ApiPropertyOptional({ type: String })
  @IsOptional()
  @IsString()
  @IsName()
  name?: string | null;

  @ApiPropertyOptional({
    type: Boolean,
    description: 'Its keys are refused within 10 seconds, its people are signed out at once.',
  })
  @IsOptional()
  @IsBoolean()
  disabled?: boolean | null;
}

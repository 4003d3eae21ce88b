import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsDefined, IsIn, IsString, Matches } from 'class-validator';
import { Rule, type FieldProblem } from '#contract/field-rule.js';
import { textProblem } from '#contract/text-rules.js';
import { LINK_PURPOSES, type LinkPurpose } from '#accounts/link-store.js';
import { newEmailOf, storedEmailOf } from '#accounts/person-rules.js';
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from '#accounts/passwords.js';
import { NormalizedBy } from '../../../common/contract-fields.js';
import { IsName } from '../../dto/name-body.dto.js';

const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Validates and normalizes an email address, in the same way for every body. */
const isAddress = (rule: string, read: (value: unknown) => string | undefined) =>
  applyDecorators(
    NormalizedBy((value) => read(value) ?? value),
    Rule(rule, (value, property) => emailProblem(read(value), property)),
  );
/** The email address of a user. */
const IsEmailAddress = () => isAddress('isEmailAddress', storedEmailOf);
/** An email address for a new user. */
export const IsNewEmailAddress = () => isAddress('isNewEmailAddress', newEmailOf);
const IsLinkToken = () => Matches(TOKEN, { message: 'token must be the token of a link' });
const IsNewPassword = () => Rule('isNewPassword', newPasswordProblem);

function emailProblem(email: string | undefined, property: string): FieldProblem | undefined {
  if (email !== undefined) return undefined;
  return { code: 'invalid_value', message: `${property} must be an email address` };
}

function newPasswordProblem(value: unknown, property: string): FieldProblem | undefined {
  if (typeof value === 'string' && [...value].length < MIN_PASSWORD_LENGTH) {
    return { code: 'invalid_value', message: `${property} must have at least ${MIN_PASSWORD_LENGTH} characters` };
  }
  return textProblem(value, property, MAX_PASSWORD_LENGTH);
}

/** Email address and password; errors never say which one was wrong. */
export class SignInBody {
  @ApiProperty()
  @IsDefined()
  @IsString()
  @IsEmailAddress()
  email!: string;

  @ApiProperty()
  @IsDefined()
  @IsString()
  @Rule('isPassword', (value, property) => textProblem(value, property, MAX_PASSWORD_LENGTH))
  password!: string;
}

/** The password of a signed-in user, which proves that they, and not a thief of their session, make a change. */
export class ProofBody {
  @ApiProperty()
  @IsDefined()
  @IsString()
  @Rule('isPassword', (value, property) => textProblem(value, property, MAX_PASSWORD_LENGTH))
  password!: string;
}

/** The email address of a forgotten password. */
export class ForgotPasswordBody {
  @ApiProperty()
  @IsDefined()
  @IsString()
  @IsEmailAddress()
  email!: string;
}

/** A one-time link that is accepted by signing in with the provider. */
export class LinkBody {
  @ApiProperty({ description: 'The part of the link after #token=.' })
  @IsDefined()
  @IsString()
  @IsLinkToken()
  token!: string;
}

/** The account to open. */
export class SwitchBody {
  @ApiProperty()
  @IsDefined()
  @IsString()
  account_id!: string;
}

/** A link and its purpose: its status can be checked before it is used. */
export class CheckLinkBody extends LinkBody {
  @ApiProperty({ enum: LINK_PURPOSES })
  @IsDefined()
  @IsIn(LINK_PURPOSES, { message: `purpose must be one of ${LINK_PURPOSES.join(', ')}` })
  purpose!: LinkPurpose;
}

/** A link that sets a password. */
export class ResetPasswordBody extends LinkBody {
  @ApiProperty({ minLength: MIN_PASSWORD_LENGTH })
  @IsDefined()
  @IsString()
  @IsNewPassword()
  password!: string;
}

/** The token of an invitation, with the name and password of the new user. */
export class JoinBody extends ResetPasswordBody {
  @ApiProperty()
  @IsDefined()
  @IsString()
  @IsName()
  name!: string;
}

/** The first user of an installation, with the token of their link. */
export class FirstAdminBody extends JoinBody {
  @ApiProperty()
  @IsDefined()
  @IsString()
  @IsNewEmailAddress()
  email!: string;
}

/** The new password, and the current one as proof. */
export class ChangePasswordBody {
  @ApiProperty()
  @IsDefined()
  @IsString()
  @Rule('isPassword', (value, property) => textProblem(value, property, MAX_PASSWORD_LENGTH))
  current_password!: string;

  @ApiProperty({ minLength: MIN_PASSWORD_LENGTH })
  @IsDefined()
  @IsString()
  @IsNewPassword()
  password!: string;
}
